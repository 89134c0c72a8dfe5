// MQTT.js. Package: node-mqtt, or npm install mqtt.
'use strict';
const { Agent } = require('./agent');
// effort: node-mqttjs
const mqtt = require('mqtt');
// effort: end

const version = (() => { try { return require('mqtt/package.json').version; } catch { return ''; } })();

new Agent('mqtt.js', version, (agent, job) => {
  // effort: node-mqttjs
  const client = mqtt.connect({
    host: job.host, port: job.port, clientId: job.client_id || 'mqttjs', keepalive: job.keepalive || 60, protocolVersion: 4, reconnectPeriod: 0,
  // effort: end
    protocol: job.tls_ca ? 'mqtts' : 'mqtt', ca: job.tls_ca ? require('fs').readFileSync(job.tls_ca) : undefined,
  });
  if (job.nodelay) client.stream.setNoDelay(true);
  // effort: node-mqttjs
  client.on('error', (e) => agent.fail(e.message));
  client.on('message', (topic, payload) => agent.received(payload));
  client.on('connect', () => client.subscribe(job.topic, { qos: job.qos || 0 }, (e) => { if (e) agent.fail(e.message); else agent.ready(); }));
  // effort: end
  (job.publish ? agent.publish((payload) => client.publish(job.publish, payload, { qos: job.publish_qos || 0 })) : Promise.resolve()).then(() => agent.stop());
});
