"""asyncio-mqtt (now aiomqtt). Package: python3-asyncio-mqtt."""
# effort: python-asyncio
import asyncio
# effort: end
import contextlib
import logging
import socket
import threading

from agent import Agent

try:
    import aiomqtt as library
except ImportError:
    # effort: python-asyncio
    import asyncio_mqtt as library
    # effort: end

agent = Agent(library.__name__, getattr(library, '__version__', ''))
job = agent.job
if job.get('log'):
    logging.basicConfig(level=logging.DEBUG)


async def main():
    loop = asyncio.get_running_loop()
    stop = loop.create_future()
    threading.Thread(target=lambda: (agent.wait_stop(), loop.call_soon_threadsafe(stop.set_result, None)), daemon=True).start()
    options = {'keepalive': job.get('keepalive', 60), 'tls_context': agent.tls()}
    if job.get('nodelay'):
        options['socket_options'] = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    readers = []
    async with contextlib.AsyncExitStack() as stack:
        for _ in range(agent.connections):
            # effort: python-asyncio
            client = await stack.enter_async_context(library.Client(job['host'], job['port'], **options))
            messages = client.messages() if callable(client.messages) else None
            readers.append(asyncio.ensure_future(read(client, messages)))
            await client.subscribe(job['topic'], job.get('qos', 0))
            # effort: end
            agent.ready()
        await stop
        agent.end()


async def read(client, messages):
    if messages is None:
        async for message in client.messages:
            agent.received(message.payload)
        return
    # effort: python-asyncio
    async with messages as stream:
        async for message in stream:
            agent.received(message.payload)
    # effort: end


try:
    # effort: python-asyncio
    asyncio.run(main())
except Exception as e:
    agent.fail(e)
    # effort: end
