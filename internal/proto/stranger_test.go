package proto

import "testing"

func TestStranger(t *testing.T) {
	for _, c := range []struct {
		in, own, name string
		wait          bool
	}{
		{"\x16\x03\x01", "MQTT", "TLS", false},
		{"H", "MQTT", "", true},
		{"HTTP/1.1 400", "NATS", "HTTP", false},
		{"-ER", "NATS", "", true},
		{"-ERR no", "NATS", "Redis", false},
		{"-ERR no", "Redis", "", false},
		{"-E", "Redis", "", false},
		{"\x20\x02", "MQTT", "", false},
		{"INFO {", "AMQP", "NATS", false},
		{"hello", "AMQP", "", false},
	} {
		if name, wait := Stranger([]byte(c.in), c.own); name != c.name || wait != c.wait {
			t.Errorf("%q to %s: %q, wait %v; want %q, %v", c.in, c.own, name, wait, c.name, c.wait)
		}
	}
}
