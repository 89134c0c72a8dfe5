"""pika, AMQP 0-9-1, blocking. Package: python3-pika."""
import threading

from agent import Agent
# effort: python-pika
import pika
# effort: end

agent = Agent('pika', pika.__version__)
job = agent.job
# effort: python-pika
connection = pika.BlockingConnection(pika.ConnectionParameters(job['host'], job['port']))
channel = connection.channel()
channel.queue_declare(job['topic'], auto_delete=True)
# effort: end
manual = job.get('qos', 0) > 0


# effort: python-pika
def on_message(c, method, properties, body):
    agent.received(body)
    if manual:
        c.basic_ack(method.delivery_tag)


channel.basic_consume(job['topic'], on_message, auto_ack=not manual)
# effort: end
threading.Thread(target=lambda: (agent.wait_stop(), agent.end()), daemon=True).start()
agent.ready()
# effort: python-pika
channel.start_consuming()
# effort: end
