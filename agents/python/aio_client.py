"""asyncio-mqtt (now aiomqtt). Package: python3-asyncio-mqtt."""
import asyncio
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


# effort: python-asyncio
async def main():
    # effort: end
    loop = asyncio.get_running_loop()
    stop = loop.create_future()
    threading.Thread(target=lambda: (agent.wait_stop(), loop.call_soon_threadsafe(stop.set_result, None)), daemon=True).start()
    # effort: python-asyncio
    async with library.Client(job['host'], job['port'], keepalive=job.get('keepalive', 60)) as client:
        messages = client.messages() if callable(client.messages) else None
        reader = asyncio.ensure_future(read(client, messages))
        await client.subscribe(job['topic'], job.get('qos', 0))
    # effort: end
        agent.ready()
        await stop
        reader.cancel()
        agent.end()


# effort: python-asyncio
async def read(client, messages):
    # effort: end
    if messages is None:
        async for message in client.messages:
            agent.received(message.payload)
        return
    # effort: python-asyncio
    async with messages as stream:
        async for message in stream:
            agent.received(message.payload)
    # effort: end


# effort: python-asyncio
try:
    asyncio.run(main())
except Exception as e:
    agent.fail(e)
# effort: end
