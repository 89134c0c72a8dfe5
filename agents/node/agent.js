// The agent protocol for Node; see ../README.md.
'use strict';
const fs = require('fs');
const readline = require('readline');
const v8 = require('v8');
const { constants, performance, PerformanceObserver } = require('perf_hooks');
const { Worker } = require('worker_threads');

const RECEIVED = 1, SENT = 2, PAUSE = 3;
const HEADER = 64, RECORD = 32;
const now = process.hrtime.bigint; // CLOCK_MONOTONIC

// An Agent reads the job, says who is here, and calls main. Node cannot map a file: samples are written to it at the end.
class Agent {
  constructor(library, version, main) {
    this.taken = 0;
    this.waiting = [];
    this.lines = [];
    const input = readline.createInterface({ input: process.stdin });
    input.on('line', (line) => this.give(line));
    input.on('close', () => this.give('STOP'));
    this.line().then((line) => {
      this.job = JSON.parse(line);
      this.capacity = this.job.samples ? this.job.capacity || 1 << 16 : 0;
      this.buffer = Buffer.alloc(HEADER + RECORD * this.capacity);
      this.view = new DataView(this.buffer.buffer, this.buffer.byteOffset);
      this.workNs = BigInt(this.job.work_ns || 0);
      this.connections = this.job.connections || 1;
      this.confirmed = this.queueDrops = this.fullCollections = 0;
      if (this.job.callback === 'queue') this.startWorker();
      this.watchCollections();
      this.say({ event: 'hello', protocol: 1, library, version, pid: process.pid });
      main(this, this.job);
    });
  }

  give(line) {
    const waiter = this.waiting.shift();
    if (waiter) waiter(line); else this.lines.push(line);
  }

  line() {
    return this.lines.length ? Promise.resolve(this.lines.shift()) : new Promise((resolve) => this.waiting.push(resolve));
  }

  // Publishes on a schedule, after GO: count messages, one every interval_ns, or two at once (QoS 0, then QoS 1) with mix.
  async publish(send) {
    const job = this.job, go = await this.line();
    if (!go.startsWith('GO ')) return this.give(go);
    const begin = BigInt(go.slice(3)), filler = 'x'.repeat(Math.max((job.payload_bytes || 256) - 22, 0));
    const first = job.publish_qos || 0, each = job.mix ? [first, 1] : [first];
    let seq = 0;
    for (let i = 0; i < (job.count || 0); i++) {
      const due = begin + BigInt(i) * BigInt(job.interval_ns || 100e6);
      await this.until(due);
      for (const qos of i === job.burst_at ? each.concat(Array(job.burst || 0).fill(first)) : each) {
        const began = now();
        send(`{"seq":"${String(seq).padStart(10, '0')}","${filler}"}`, qos);
        this.keep(SENT, seq++, due, began, now());
      }
    }
  }

  // A timer of Node may fire a millisecond early or late: the rest is waited for turn by turn.
  async until(due) {
    const early = Number(due - now()) / 1e6 - 2;
    if (early > 0) await new Promise((resolve) => setTimeout(resolve, early));
    while (now() < due) await new Promise((resolve) => setImmediate(resolve));
  }

  // Resolves at STOP, or when nobody is there any more.
  async stop() {
    while (await this.line() !== 'STOP');
    this.end();
  }

  watchCollections() {
    const offset = now() - BigInt(Math.round(performance.now() * 1e6));
    new PerformanceObserver((list) => {
      for (const e of list.getEntries()) {
        if (e.detail && e.detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) this.fullCollections++;
        const began = offset + BigInt(Math.round(e.startTime * 1e6));
        this.keep(PAUSE, 0, began, began + BigInt(Math.round(e.duration * 1e6)), 0);
      }
    }).observe({ entryTypes: ['gc'] });
  }

  say(event) { fs.writeSync(1, JSON.stringify(event) + '\n'); }

  keep(kind, seq, a, b, c) {
    const i = this.taken++;
    if (i >= this.capacity) return;
    const at = HEADER + RECORD * i;
    this.view.setUint32(at, kind, true);
    this.view.setUint32(at + 4, seq, true);
    this.view.setBigUint64(at + 8, a, true);
    this.view.setBigUint64(at + 16, b, true);
    this.view.setBigUint64(at + 24, BigInt(c), true);
  }

  // The body of the library's callback: call it first thing.
  received(payload) {
    const entered = now();
    const seq = parseInt(payload.toString('latin1', 8, 18), 10);
    if (this.queue) this.enqueue();
    else if (this.workNs && this.job.callback === 'block') Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(this.workNs) / 1e6);
    else if (this.workNs) for (const end = now() + this.workNs; now() < end;);
    this.keep(RECEIVED, seq, entered, now(), payload.length);
  }

  // Another thread does the work of a message, by a queue of 1,024 of which it is enough to know the length.
  startWorker() {
    this.queue = new Int32Array(new SharedArrayBuffer(4));
    new Worker(`const { queue, ns } = require('worker_threads').workerData, now = process.hrtime.bigint;
      for (;;) {
        Atomics.wait(queue, 0, 0);
        for (const end = now() + ns; now() < end;);
        Atomics.sub(queue, 0, 1);
      }`, { eval: true, workerData: { queue: this.queue, ns: this.workNs } }).unref();
  }

  enqueue() {
    if (Atomics.load(this.queue, 0) >= 1024) this.queueDrops++;
    else if (Atomics.add(this.queue, 0, 1) === 0) Atomics.notify(this.queue, 0);
  }

  // Says that the subscription is confirmed: call it once for each connection.
  ready() {
    if (++this.confirmed !== this.connections) return;
    this.heap = v8.GCProfiler ? new v8.GCProfiler() : undefined;
    this.heapBefore = process.memoryUsage().heapUsed;
    if (this.heap) this.heap.start();
    this.say({ event: 'ready' });
  }

  // The name of one of several connections; of one it is that of the job.
  clientId(i) {
    const name = this.job.client_id || 'node';
    return this.connections === 1 ? name : `${name}-${i}`;
  }

  // What was allocated on the heap since ready: what it grew by between its collections.
  allocatedBytes() {
    if (!this.heap) return undefined;
    let used = this.heapBefore, sum = 0;
    for (const c of this.heap.stop().statistics) {
      sum += c.beforeGC.heapStatistics.usedHeapSize - used;
      used = c.afterGC.heapStatistics.usedHeapSize;
    }
    return Math.max(sum + process.memoryUsage().heapUsed - used, 0);
  }

  fail(what) {
    this.say({ event: 'error', what: String(what).replace(/["\\]/g, "'"), code: 0 });
    process.exit(1);
  }

  end() {
    const allocated = this.allocatedBytes();
    const kept = Math.min(this.taken, this.capacity);
    this.buffer.write('MQLABSMP', 0);
    this.view.setUint32(8, 1, true);
    this.view.setUint32(12, RECORD, true);
    this.view.setBigUint64(16, BigInt(this.capacity), true);
    this.view.setBigUint64(24, BigInt(kept), true);
    this.view.setBigUint64(32, BigInt(this.taken - kept), true);
    if (this.job.samples) fs.writeFileSync(this.job.samples, this.buffer);
    this.say({ event: 'done', samples: this.taken, queue_drops: this.queueDrops, full_collections: this.fullCollections, allocated_bytes: allocated, max_rss_kib: process.resourceUsage().maxRSS });
    process.exit(0);
  }
}

module.exports = { Agent };
