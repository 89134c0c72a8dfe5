package amqp091

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// Table is what AMQP calls a field table: arguments of a declaration, properties of a peer. Values are bool, int64,
// string or Table.
type Table []Field

// Field is one entry of a Table.
type Field struct {
	Name  string
	Value any
}

// validate says what in the table cannot be encoded, or nil.
func (t Table) validate() error {
	for _, f := range t {
		if f.Name == "" || len(f.Name) > 255 {
			return fmt.Errorf("amqp091: the name of argument %.40q has %d bytes instead of 1 to 255", f.Name, len(f.Name))
		}
		switch v := f.Value.(type) {
		case bool, int64, string:
		case Table:
			if err := v.validate(); err != nil {
				return err
			}
		default:
			return fmt.Errorf("amqp091: argument %s is a %T instead of bool, int64, string or Table", f.Name, f.Value)
		}
	}
	return nil
}

// appendTable appends a valid table (§4.2.5.5, with the value types as RabbitMQ has them).
func appendTable(out []byte, t Table) []byte {
	start := len(out)
	out = append(out, 0, 0, 0, 0)
	for _, f := range t {
		out = appendShort(out, f.Name)
		switch v := f.Value.(type) {
		case bool:
			out = append(out, 't', bit(v, 0))
		case int64:
			out = binary.BigEndian.AppendUint64(append(out, 'l'), uint64(v))
		case string:
			out = appendLong(append(out, 'S'), v)
		case Table:
			out = appendTable(append(out, 'F'), v)
		}
	}
	binary.BigEndian.PutUint32(out[start:], uint32(len(out)-start-4))
	return out
}

// appendShort appends a short string, which must not be longer than 255 bytes.
func appendShort[T ~string | ~[]byte](out []byte, s T) []byte {
	return append(append(out, byte(len(s))), s...)
}

// appendLong appends a long string.
func appendLong[T ~string | ~[]byte](out []byte, s T) []byte {
	return append(binary.BigEndian.AppendUint32(out, uint32(len(s))), s...)
}

// bit is 1<<n if set.
func bit(set bool, n uint) byte {
	if set {
		return 1 << n
	}
	return 0
}

// reader takes arguments from the front of a payload. Once they do not suffice, short is set and all further ones are 0.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.short, r.rest = true, nil
		return nil
	}
	b := r.rest[:n:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) u8() uint8 {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *reader) u16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *reader) u32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *reader) u64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// shortStr takes a short string.
func (r *reader) shortStr() []byte { return r.take(int(r.u8())) }

// longStr takes a long string, or the inside of a table.
func (r *reader) longStr() []byte { return r.take(int(r.u32())) }

var errTable = errors.New("amqp091: malformed field table")

// readTable decodes the inside of a table as far as the lab is interested: strings, booleans and tables. Values of other
// types are skipped.
func readTable(b []byte, depth int) (t Table, err error) {
	r := reader{rest: b}
	for len(r.rest) > 0 {
		name := string(r.shortStr())
		value, err := readValue(&r, depth)
		if err != nil {
			return nil, err
		}
		if value != nil {
			t = append(t, Field{name, value})
		}
	}
	return t, nil
}

func readValue(r *reader, depth int) (v any, err error) {
	const fixed = "t1b1B1s2U2u2I4i4f4l8L8d8T8D5V0"
	switch kind := r.u8(); kind {
	case 't':
		v = r.u8() != 0
	case 'S':
		v = string(r.longStr())
	case 'A', 'x':
		r.longStr()
	case 'F':
		inside := r.longStr()
		if depth == 0 {
			return nil, errTable
		}
		v, err = readTable(inside, depth-1)
	default:
		size := -1
		for i := 0; i < len(fixed); i += 2 {
			if fixed[i] == kind {
				size = int(fixed[i+1] - '0')
			}
		}
		r.take(size)
	}
	if r.short {
		return nil, errTable
	}
	return v, err
}

// get returns a value of the table by name; nil = there is none.
func (t Table) get(name string) any {
	for _, f := range t {
		if f.Name == name {
			return f.Value
		}
	}
	return nil
}

// text returns a string of the table by name; empty = there is none.
func (t Table) text(name string) string {
	s, _ := t.get(name).(string)
	return s
}
