"""redis-py, publish/subscribe. Package: python3-redis."""
import threading

from agent import Agent
# effort: python-redis
import redis
# effort: end

agent = Agent('redis-py', redis.__version__)
job = agent.job


def listen():
    tls = {'ssl': True, 'ssl_ca_certs': job['tls_ca']} if job.get('tls_ca') else {}
    # effort: python-redis
    subscription = redis.Redis(job['host'], job['port'], **tls).pubsub()
    subscription.subscribe(job['topic'])
    # effort: end
    # effort: python-redis
    for message in subscription.listen():
        if message['type'] == 'message':
            agent.received(message['data'])
    # effort: end
        elif message['type'] == 'subscribe':
            agent.ready()


for _ in range(agent.connections):
    threading.Thread(target=listen, daemon=True).start()
agent.wait_stop()
agent.end()
