"""paho-mqtt, 1.6 and 2.x. Package: python3-paho-mqtt."""
import socket
import threading
import time

from agent import Agent
import paho.mqtt
# effort: python-paho python-paho2
from paho.mqtt import client as mqtt
# effort: end

agent = Agent('paho-python', paho.mqtt.__version__)
job = agent.job
if hasattr(mqtt, 'CallbackAPIVersion'):
    # effort: python-paho2
    client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=job.get('client_id', 'paho-python'))
    # effort: end
else:
    # effort: python-paho
    client = mqtt.Client(client_id=job.get('client_id', 'paho-python'))
    # effort: end
# effort: python-paho python-paho2
client.on_message = lambda c, u, message: agent.received(message.payload)
client.on_connect = lambda *_: client.subscribe(job['topic'], job.get('qos', 0))
client.on_subscribe = lambda *_: agent.ready()
# effort: end
if job.get('nodelay'):
    client.on_socket_open = lambda c, u, s: s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
if job.get('log'):
    client.enable_logger()
if job.get('tls_ca'):
    client.tls_set(job['tls_ca'])
# effort: python-paho python-paho2
try:
    client.connect(job['host'], job['port'], job.get('keepalive', 60))
except OSError as e:
    agent.fail(e, e.errno or 0)
# effort: end


def own():
    while client.loop(1.0) == mqtt.MQTT_ERR_SUCCESS:
        pass


def sleep():
    while client.loop(0.001) == mqtt.MQTT_ERR_SUCCESS:
        time.sleep(job.get('sleep_us', 10000) / 1e6)


loop = job.get('loop', 'start')
if loop == 'start':
    # effort: python-paho python-paho2
    client.loop_start()
    # effort: end
else:
    threading.Thread(target={'forever': client.loop_forever, 'own': own, 'sleep': sleep}[loop], daemon=True).start()
if job.get('publish'):
    agent.publish(lambda payload: client.publish(job['publish'], payload, job.get('publish_qos', 0)))
agent.wait_stop()
agent.end()
