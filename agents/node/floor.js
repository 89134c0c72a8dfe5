// The floor of Node: a socket and no library. What others add is what they take longer than this.
'use strict';
const fs = require('fs');
const net = require('net');
const tls = require('tls');
const { Agent } = require('./agent');

function open(agent, job) {
  const connection = job.tls_ca
    ? tls.connect({ port: job.port, host: job.host, ca: fs.readFileSync(job.tls_ca) }) : net.connect(job.port, job.host);
  connection.setNoDelay(true);
  connection.on('error', (e) => agent.fail(e.message));
  connection.on(job.tls_ca ? 'secureConnect' : 'connect', () => connection.write(Buffer.from('\x10\x11\0\x04MQTT\x04\x02\x02\x58\0\x05floor', 'latin1')));
  let buffer = Buffer.alloc(0);
  connection.on('data', (data) => {
    buffer = buffer.length ? Buffer.concat([buffer, data]) : data;
    let done = 0;
    for (let used; (used = packet(buffer.subarray(done))) > 0;) done += used;
    buffer = buffer.subarray(done);
  });

  // Handles the packet at the begin of b; returns its length, or 0 if it is not whole yet.
  function packet(b) {
    let length = 0, i = 1;
    for (let shift = 0; ; shift += 7) {
      if (i >= b.length) return 0;
      length |= (b[i] & 127) << shift;
      if (b[i++] < 128) break;
    }
    if (b.length < i + length) return 0;
    switch (b[0] >> 4) {
      case 2: {
        const topic = Buffer.from(job.topic);
        connection.write(Buffer.concat([Buffer.from([0x82, 5 + topic.length, 0, 1, 0, topic.length]), topic, Buffer.from([job.qos || 0])]));
        break;
      }
      case 3: {
        const qos = b[0] >> 1 & 3;
        const head = i + 2 + (b[i] << 8 | b[i + 1]) + (qos ? 2 : 0);
        agent.received(b.subarray(head, i + length));
        if (qos) connection.write(Buffer.from([qos === 1 ? 0x40 : 0x50, 2, b[head - 2], b[head - 1]]));
        break;
      }
      case 6:
        connection.write(Buffer.from([0x70, 2, b[i], b[i + 1]]));
        break;
      case 9:
        agent.ready();
    }
    return i + length;
  }
}

new Agent('floor-node', process.versions.node, (agent, job) => {
  for (let i = 0; i < agent.connections; i++) open(agent, job);
  agent.stop();
});
