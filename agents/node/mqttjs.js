// MQTT.js. Package: node-mqtt, or npm install mqtt.
'use strict';
const { Agent } = require('./agent');
// effort: node-mqttjs
const mqtt = require('mqtt');
// effort: end

const version = (() => { try { return require('mqtt/package.json').version; } catch { return ''; } })();

function connect(agent, job, i) {
  const options = {
    protocol: job.tls_ca ? 'mqtts' : 'mqtt', ca: job.tls_ca ? require('fs').readFileSync(job.tls_ca) : undefined,
    reconnectPeriod: job.reconnect ? 1000 : 0, resubscribe: job.reconnect === 'resubscribe',
    log: job.log ? (...words) => console.error(...words) : undefined,
    // effort: node-mqttjs
    host: job.host, port: job.port, clientId: agent.clientId(i), keepalive: job.keepalive || 60, protocolVersion: 4,
  };
  const client = mqtt.connect(options);
  client.on('error', (e) => { if (!job.reconnect) agent.fail(e.message); });
  client.on('message', (topic, payload) => agent.received(payload));
  client.once('connect', () => client.subscribe(job.topic, { qos: job.qos || 0 }, (e) => { if (e) agent.fail(e.message); else agent.ready(); }));
  // effort: end
  if (job.nodelay) client.stream.setNoDelay(true);
  return client;
}

new Agent('mqtt.js', version, (agent, job) => {
  const clients = Array.from({ length: agent.connections }, (_, i) => connect(agent, job, i));
  (job.publish ? agent.publish((payload, qos) => clients[0].publish(job.publish, payload, { qos })) : Promise.resolve()).then(() => agent.stop());
});
