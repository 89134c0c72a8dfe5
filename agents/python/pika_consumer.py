"""pika, AMQP 0-9-1, blocking. Package: python3-pika."""
import threading

from agent import Agent
import pika

agent = Agent('pika', pika.__version__)
job = agent.job
connection = pika.BlockingConnection(pika.ConnectionParameters(job['host'], job['port']))
channel = connection.channel()
channel.queue_declare(job['topic'], auto_delete=True)
manual = job.get('qos', 0) > 0


def on_message(c, method, properties, body):
    agent.received(body)
    if manual:
        c.basic_ack(method.delivery_tag)


channel.basic_consume(job['topic'], on_message, auto_ack=not manual)
threading.Thread(target=lambda: (agent.wait_stop(), agent.end()), daemon=True).start()
agent.ready()
channel.start_consuming()
