package plan

import "testing"

func TestSides(t *testing.T) {
	type sides struct{ broker, publish, second, bridge, subscribe, name string }
	for text, want := range map[string]sides{
		"nats/mqtt311>nats":             {"nats", MQTT311, "", "", NATS, "nats/mqtt311>nats"},
		"nats/mqtt>jetstream@process":   {"nats", MQTT311, "", "", JetStream, "nats/mqtt311>jetstream@process"},
		"mosquitto/mqtt5>mqtt":          {"mosquitto", MQTT5, "", "", MQTT5, "mosquitto"},
		"mosquitto/mqtt5+ws>mqtt311":    {"mosquitto", MQTT5WS, "", "", MQTT311, "mosquitto/mqtt5+ws>mqtt311"},
		"rabbitmq/mqtt311>amqp091":      {"rabbitmq", MQTT311, "", "", AMQP091, "rabbitmq/mqtt311>amqp091"},
		"mosquitto/mqtt5+ws":            {"mosquitto", MQTT5WS, "", "", MQTT5WS, "mosquitto/mqtt5+ws"},
		"mosquitto+mochi":               {"mosquitto", MQTT5, "mochi", MQTT5, MQTT5, "mosquitto+mochi"},
		"mosquitto:tuned+mochi/mqtt311": {"mosquitto", MQTT5, "mochi", MQTT311, MQTT311, "mosquitto:tuned+mochi/mqtt311"},
		"mosquitto/mqtt5+ws+mosquitto":  {"mosquitto", MQTT5WS, "mosquitto", MQTT5, MQTT5, "mosquitto/mqtt5+ws+mosquitto"},
		"mosquitto+nats@process":        {"mosquitto", MQTT5, "nats", MQTT311, NATS, "mosquitto+nats@process"},
		"mosquitto/mqtt311+rabbitmq":    {"mosquitto", MQTT311, "rabbitmq", MQTT311, AMQP091, "mosquitto/mqtt311+rabbitmq"},
		"mosquitto/mqtt311+mochi":       {"mosquitto", MQTT311, "mochi", MQTT5, MQTT5, "mosquitto/mqtt311+mochi"},
		"mosquitto+mochi/mqtt5+ws":      {"mosquitto", MQTT5, "mochi", MQTT5, MQTT5WS, "mosquitto+mochi/mqtt5+ws"},
		"mosquitto+nats/jetstream":      {"mosquitto", MQTT5, "nats", MQTT311, JetStream, "mosquitto+nats/jetstream"},
	} {
		s, err := ParseSubject(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		got := sides{broker: s.Broker, publish: s.Protocol, subscribe: s.SubscribeProtocol(), name: s.Name}
		if s.Bridge != nil {
			got.second, got.bridge = s.Bridge.Broker, s.Bridge.Protocol
			if s.Bridge.SubscribeProtocol() != got.subscribe {
				t.Errorf("%s: subscribers speak %s to the second broker", text, s.Bridge.SubscribeProtocol())
			}
		}
		if got != want {
			t.Errorf("%s is %+v, want %+v", text, got, want)
		}
		if again, err := ParseSubject(s.Name); err != nil || again.Name != s.Name || again.Protocol != s.Protocol || again.Subscribe != s.Subscribe {
			t.Errorf("%s is read again as %+v, %v", s.Name, again, err)
		}
	}
}

// TestTwoURLs: subscribers may hear elsewhere, in another protocol.
func TestTwoURLs(t *testing.T) {
	for text, want := range map[string]Subject{
		"mqtt://a>nats://b": {
			Name: "mqtt://a:1883>nats://b:4222", Protocol: MQTT5, Subscribe: NATS, URL: "mqtt://a:1883", SubscribeURL: "nats://b:4222",
		},
		"mqtt://a/mqtt311>mqtts://b:1/mqtt311": {
			Name: "mqtt://a:1883/mqtt311>mqtts://b:1/mqtt311", Protocol: MQTT311, URL: "mqtt://a:1883", SubscribeURL: "mqtts://b:1",
		},
	} {
		want.Runtime = "external"
		s, err := ParseSubject(text)
		if err != nil || s != want {
			t.Errorf("%s is %+v, %v", text, s, err)
		}
		if again, err := ParseSubject(s.Name); err != nil || again != s {
			t.Errorf("%s is read again as %+v, %v", s.Name, again, err)
		}
		if s.Encrypted() != (s.SubscribeURL == "mqtts://b:1") {
			t.Errorf("%s is encrypted: %v", text, s.Encrypted())
		}
	}
}

func TestSidesRefused(t *testing.T) {
	for text, want := range map[string]string{
		"mqtt://a>nats":                "on both sides of > belongs a URL: where publishers > where subscribers connect",
		"mosquitto>mqtt://b":           "on both sides of > belongs a URL: where publishers > where subscribers connect",
		"mqtt://a>mqtt://b>mqtt://c":   "on both sides of > belongs a URL: where publishers > where subscribers connect",
		"nats/mqtt311>":                `"mqtt311>" lacks a protocol beside >: publishers' > subscribers'`,
		"nats/>nats":                   `">nats" lacks a protocol beside >: publishers' > subscribers'`,
		"nats/mqtt5>nats":              "nats does not speak mqtt5 here; it speaks nats, jetstream, mqtt311",
		"redis/redis>redis-streams":    "pub/sub and streams of Redis do not meet: what is published in one is not in the other",
		"nats+mosquitto":               "nats has no bridge that is known here; possible in front of +: mosquitto",
		"mosquitto+redis":              "redis does not speak MQTT, which the bridge of mosquitto does",
		"mosquitto/mqtt5>mqtt311+nats": "publishers speak the protocol of the broker in front of +, subscribers that of the one behind it: leave out >",
		"mosquitto+":                   `"" names no broker; known: mosquitto, emqx, hivemq, rabbitmq, artemis, nats, redis, zenoh, mochi`,
		"mosquitto+mochi+nats":         `unknown broker "mochi+nats"; known: mosquitto, emqx, hivemq, rabbitmq, artemis, nats, redis, zenoh, mochi`,
	} {
		if s, err := ParseSubject(text); err == nil || err.Error() != want {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
	}
}

func TestWeakerPromiseHolds(t *testing.T) {
	for _, c := range []struct {
		subject               string
		qos                   uint8
		guarantee, durability string
	}{
		{"nats/mqtt311>nats", 0, AtMostOnce, InMemory},
		{"nats/mqtt311>nats", 1, AtMostOnceConfirmed, InMemory},
		{"nats/mqtt311>jetstream", 1, AtLeastOnce, InMemory},
		{"mosquitto+nats", 1, AtMostOnceConfirmed, InMemory},
		{"mosquitto+mochi", 2, ExactlyOnce, InMemory},
		{"rabbitmq/mqtt311>amqp091", 1, AtLeastOnce, InMemory},
	} {
		s, err := ParseSubject(c.subject)
		if err != nil {
			t.Fatal(err)
		}
		trial := Trial{Subject: s, Params: Params{QoS: c.qos, Connect: Connect{CleanStart: true}}}
		if g, d := trial.Guarantee(), trial.Durability(); g != c.guarantee || d != c.durability {
			t.Errorf("%s at QoS %d promises %s, %s; want %s, %s", c.subject, c.qos, g, d, c.guarantee, c.durability)
		}
	}
}

func TestBridgeNeeds(t *testing.T) {
	s, err := ParseSubject("mosquitto+mochi")
	if err != nil {
		t.Fatal(err)
	}
	trial := Trial{Subject: s, Params: Params{Publishers: 3, Subscribers: 2}}
	if e := trial.Estimate(); e.BrokerStarts != 2 || e.Connections != 7 {
		t.Errorf("needs %d brokers and %d connections", e.BrokerStarts, e.Connections)
	}
}
