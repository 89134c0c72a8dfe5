"""paho-mqtt, 1.6 and 2.x. Package: python3-paho-mqtt."""
import logging
import selectors
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
if job.get('log'):
    logging.basicConfig(level=logging.DEBUG)


def connected(i):
    if hasattr(mqtt, 'CallbackAPIVersion'):
        # effort: python-paho2
        client = mqtt.Client(mqtt.CallbackAPIVersion.VERSION2, client_id=agent.client_id(i))
        # effort: end
    else:
        # effort: python-paho
        client = mqtt.Client(client_id=agent.client_id(i))
        # effort: end
    # effort: python-paho python-paho2
    client.on_message = lambda c, u, message: agent.received(message.payload)
    client.on_subscribe = lambda *_: agent.ready()

    def on_connect(*_):
        client.subscribe(job['topic'], job.get('qos', 0))
    # effort: end
        if job.get('reconnect') == 'plain':
            client.on_connect = None

    # effort: python-paho python-paho2
    client.on_connect = on_connect
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
    return client


def start(i, client):
    """Gives a connection its thread, which waits by select() for its socket and for the pair of sockets that wakes it. Where
    a descriptor is too large for select() the library takes the connection for lost, and connects again without end."""
    with socket.socket() as free:  # its number is the least of the pair's
        if len(clients) > 1 and max(client.socket().fileno(), free.fileno()) >= 1024:
            agent.fail('paho-mqtt waits by select(), which takes descriptors below 1024, and each connection has several: by threads it can have %d' % i)
    # effort: python-paho python-paho2
    client.loop_start()
    # effort: end


by, loop = job.get('by'), job.get('loop', 'start')
threads = by == 'threads' or by != 'loop' and loop == 'start'
clients = []
for i in range(agent.connections):
    clients.append(connected(i))
    if threads:
        start(i, clients[i])
client = clients[0]


def run_all():
    """One loop for all connections."""
    with selectors.DefaultSelector() as ready:
        for c in clients:
            ready.register(c.socket(), selectors.EVENT_READ, c)
        while True:
            for key, _ in ready.select(1.0):
                key.data.loop_read()
                while key.data.want_write():
                    key.data.loop_write()
                key.data.loop_misc()


def own():
    while client.loop(1.0) == mqtt.MQTT_ERR_SUCCESS:
        pass


def sleep():
    while client.loop(0.001) == mqtt.MQTT_ERR_SUCCESS:
        time.sleep(job.get('sleep_us', 10000) / 1e6)


if by == 'loop':
    threading.Thread(target=run_all, daemon=True).start()
elif not threads:
    threading.Thread(target={'forever': client.loop_forever, 'own': own, 'sleep': sleep}[loop], daemon=True).start()
if job.get('publish'):
    agent.publish(lambda payload, qos: client.publish(job['publish'], payload, qos))
agent.wait_stop()
agent.end()
