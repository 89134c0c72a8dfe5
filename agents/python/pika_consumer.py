"""pika, AMQP 0-9-1, blocking. Package: python3-pika."""
import logging
import threading

from agent import Agent
# effort: python-pika
import pika
# effort: end

agent = Agent('pika', pika.__version__)
job = agent.job
manual = job.get('qos', 0) > 0
if job.get('log'):
    logging.basicConfig(level=logging.DEBUG)


# effort: python-pika
def on_message(channel, method, properties, body):
    agent.received(body)
    if manual:
        channel.basic_ack(method.delivery_tag)
# effort: end


def consume():
    tls = agent.tls()
    # effort: python-pika
    parameters = pika.ConnectionParameters(job['host'], job['port'], ssl_options=tls and pika.SSLOptions(tls, job['host']))
    channel = pika.BlockingConnection(parameters).channel()
    channel.queue_declare(job['topic'], auto_delete=True)
    channel.basic_consume(job['topic'], on_message, auto_ack=not manual)
    agent.ready()
    # effort: end
    # effort: python-pika
    channel.start_consuming()
    # effort: end


for _ in range(agent.connections):
    threading.Thread(target=consume, daemon=True).start()
agent.wait_stop()
agent.end()
