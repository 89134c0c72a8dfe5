"""The floor of Python: a socket and no library. What others add is what they take longer than this."""
import socket
import threading

from agent import Agent

agent = Agent('floor-python')
job = agent.job


def connected():
    connection = socket.create_connection((job['host'], job['port']))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if job.get('tls_ca'):
        connection = agent.tls().wrap_socket(connection, server_hostname=job['host'])
    connection.sendall(b'\x10\x11\0\x04MQTT\x04\x02\x02\x58\0\x05floor')
    if connection.recv(4)[3]:
        agent.fail('CONNACK')
    return connection


def packet(connection, buffer, start):
    """Handles the packet at start; returns where the next one begins, or start if this one is not whole yet."""
    length, shift, i = 0, 0, start + 1
    while True:
        if i >= len(buffer):
            return start
        digit = buffer[i]
        length |= (digit & 127) << shift
        shift += 7
        i += 1
        if digit < 128:
            break
    if len(buffer) < i + length:
        return start
    kind = buffer[start] >> 4
    if kind == 3:
        qos = buffer[start] >> 1 & 3
        head = i + 2 + (buffer[i] << 8 | buffer[i + 1]) + (2 if qos else 0)
        agent.received(bytes(buffer[head:i + length]))
        if qos:
            connection.sendall(bytes([0x40 if qos == 1 else 0x50, 2]) + buffer[head - 2:head])
    elif kind == 6:
        connection.sendall(b'\x70\x02' + buffer[i:i + 2])
    elif kind == 9:
        agent.ready()
    return i + length


def read(connection):
    buffer = bytearray()
    while data := connection.recv(1 << 20):
        buffer += data
        done = 0
        while len(buffer) - done >= 2 and (after := packet(connection, buffer, done)) > done:
            done = after
        del buffer[:done]


topic = job['topic'].encode()
for _ in range(agent.connections):
    c = connected()
    threading.Thread(target=read, args=(c,), daemon=True).start()
    c.sendall(bytes([0x82, 5 + len(topic), 0, 1, 0, len(topic)]) + topic + bytes([job.get('qos', 0)]))
agent.wait_stop()
agent.end()
