"""The agent protocol for Python; see ../README.md."""
import collections
import gc
import itertools
import json
import mmap
import os
import resource
import struct
import sys
import threading
import time

RECEIVED, SENT, PAUSE = 1, 2, 3
HEADER, RECORD = struct.Struct('<8sIIQQQ24x'), struct.Struct('<IIQQQ')
now = time.monotonic_ns  # CLOCK_MONOTONIC


class Agent:
    """Reads the job, and says who is here."""

    def __init__(self, library, version=''):
        self.job = json.loads(sys.stdin.readline())
        self.capacity = self.queue_drops = 0
        self.numbers, self.ended = itertools.count(), False
        if self.job.get('samples'):
            self._map(self.job['samples'], self.job.get('capacity', 1 << 16))
        self.connections, self._confirmed, self._lock = self.job.get('connections', 1), 0, threading.Lock()
        self.count_from, self._allocated = self.job.get('count_from', 0), None
        self.work = block if self.job.get('callback') == 'block' else busy
        self.work_ns, self.work_every = self.job.get('work_ns', 0), self.job.get('work_every', 1)
        self.queue = None
        if self.job.get('callback') == 'queue':
            self.queue, self._filled = collections.deque(), threading.Semaphore(0)
            threading.Thread(target=self._work, daemon=True).start()
        self.retained = [[i] for i in range(self.job.get('retain', 0))]
        self._collect(self.job.get('gc', 'default'))
        self.say(event='hello', protocol=1, library=library, version=str(version), pid=os.getpid())

    def _map(self, path, capacity):
        size = HEADER.size + RECORD.size * capacity
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(fd, size)
        self.memory = mmap.mmap(fd, size)
        os.close(fd)
        self.memory[:] = bytes(size)  # no page faults later
        HEADER.pack_into(self.memory, 0, b'MQLABSMP', 1, RECORD.size, capacity, 0, 0)
        self.capacity = capacity

    def _collect(self, mode):
        if mode == 'off':
            gc.disable()
        elif mode == 'thresholds':
            gc.set_threshold(100000, 100, 100)
        elif mode == 'frozen':
            gc.freeze()
        gc.callbacks.append(self._collecting)

    def _collecting(self, phase, info):
        if phase == 'start':
            self._began = now()
        else:
            self.keep(PAUSE, info['generation'], self._began, now(), info['collected'])

    def say(self, **event):
        os.write(1, (json.dumps(event, separators=(',', ':')) + '\n').encode())

    def keep(self, kind, seq, a, b, c):
        """Keeps a record. Any thread may call it; the counts are right at the end."""
        if self.ended:
            return
        i = next(self.numbers)
        if i < self.capacity:
            RECORD.pack_into(self.memory, HEADER.size + RECORD.size * i, kind, seq, a, b, c)
            struct.pack_into('<Q', self.memory, 24, i + 1)

    def received(self, payload):
        """The body of the library's callback: call it first thing."""
        entered = now()
        seq = int(payload[8:18])
        if seq == self.count_from:
            self._allocated = allocations()
        if self.queue is not None:
            if len(self.queue) < 1024:
                self.queue.append(seq)
                self._filled.release()
            else:
                self.queue_drops += 1
        elif self.work_ns and seq % self.work_every == 0:
            self.work(self.work_ns)
        self.keep(RECEIVED, seq, entered, now(), len(payload))

    def _work(self):
        while True:
            self._filled.acquire()
            self.queue.popleft()
            busy(self.work_ns)

    def ready(self):
        """Says that the subscription is confirmed: call it once for each connection."""
        with self._lock:
            self._confirmed += 1
            if self._confirmed == self.connections:
                self.say(event='ready')

    def client_id(self, i):
        """The name of one of several connections; of one it is that of the job."""
        name = self.job.get('client_id', 'python')
        return name if self.connections == 1 else '%s-%d' % (name, i)

    def tls(self):
        """What trusts the broker's authority; None without TLS."""
        import ssl
        return ssl.create_default_context(cafile=self.job['tls_ca']) if self.job.get('tls_ca') else None

    def wait_go(self):
        """Waits for GO, and returns its time; 0 = STOP, or nobody is there any more."""
        line = sys.stdin.readline()
        return int(line[3:]) if line.startswith('GO ') else 0

    def publish(self, send):
        """Publishes on a schedule, after GO: count messages, one every interval_ns, or two at once (QoS 0, then QoS 1) with mix."""
        job, go = self.job, self.wait_go()
        interval, size = job.get('interval_ns', 100_000_000), job.get('payload_bytes', 256)
        first, every = job.get('publish_qos', 0), [job.get('publish_qos', 0)] + [1] * job.get('mix', 0)
        garbage, seq = [], 0
        for i in range(job.get('count', 0) if go else 0):
            due = go + i * interval
            wait = due - now()
            if wait > 0:
                time.sleep(wait / 1e9)
            for _ in range(job.get('churn', 0)):  # containers that live on, as those of a program that keeps state
                garbage.append([i])
            burst = job.get('burst', 0) if i == job.get('burst_at', -1) else 0
            for qos in every + [first] * burst:
                payload = b'{"seq":"%010d","' % seq + b'x' * (size - 22) + b'"}'
                began = now()
                send(payload, qos)
                self.keep(SENT, seq, due, began, now())
                seq += 1

    def wait_stop(self):
        """Waits for STOP, or until nobody is there any more."""
        for line in sys.stdin:
            if line.strip() == 'STOP':
                break

    def end(self):
        """Says what was done, and ends the process: a library's threads may not want to."""
        self.ended = True
        taken = next(self.numbers)
        if self.capacity:
            struct.pack_into('<QQ', self.memory, 24, min(taken, self.capacity), max(taken - self.capacity, 0))
        usage = resource.getrusage(resource.RUSAGE_SELF)
        counts, now_ = {}, allocations()
        if now_ and self._allocated:
            counts = {'allocations': now_[0] - self._allocated[0], 'allocated_bytes': now_[1] - self._allocated[1]}
        collections_ = [s['collections'] for s in gc.get_stats()]
        self.say(event='done', samples=taken, queue_drops=self.queue_drops, max_rss_kib=usage.ru_maxrss,
                 collections=sum(collections_), full_collections=collections_[2], **counts)
        os._exit(0)

    def fail(self, what, code=0):
        self.say(event='error', what=str(what).replace('"', "'"), code=code)
        os._exit(1)


def allocations():
    """The counts of allocations.c, where that is put before this program; else None."""
    if 'LD_PRELOAD' not in os.environ:
        return None
    import ctypes
    number, size = ctypes.c_uint64(), ctypes.c_uint64()
    try:
        ctypes.CDLL(None).agent_allocations(ctypes.byref(number), ctypes.byref(size))
    except AttributeError:
        return None
    return number.value, size.value


def block(ns):
    time.sleep(ns / 1e9)


def busy(ns):
    end = now() + ns
    while now() < end:
        pass
