"""redis-py, publish/subscribe. Package: python3-redis."""
import threading

from agent import Agent
import redis

agent = Agent('redis-py', redis.__version__)
job = agent.job
subscription = redis.Redis(job['host'], job['port']).pubsub()
subscription.subscribe(job['topic'])
threading.Thread(target=lambda: (agent.wait_stop(), agent.end()), daemon=True).start()
for message in subscription.listen():
    if message['type'] == 'message':
        agent.received(message['data'])
    elif message['type'] == 'subscribe':
        agent.ready()
