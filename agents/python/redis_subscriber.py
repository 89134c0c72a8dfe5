"""redis-py, publish/subscribe. Package: python3-redis."""
import threading

from agent import Agent
# effort: python-redis
import redis
# effort: end

agent = Agent('redis-py', redis.__version__)
job = agent.job
# effort: python-redis
subscription = redis.Redis(job['host'], job['port']).pubsub()
subscription.subscribe(job['topic'])
# effort: end
threading.Thread(target=lambda: (agent.wait_stop(), agent.end()), daemon=True).start()
# effort: python-redis
for message in subscription.listen():
    if message['type'] == 'message':
        agent.received(message['data'])
# effort: end
    elif message['type'] == 'subscribe':
        agent.ready()
