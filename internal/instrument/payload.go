package instrument

import "fmt"

// smallestPayload holds the number of a message and closes its JSON.
const smallestPayload = 40

// Payload is a reading of a sensor in JSON, of the size wanted; Number writes the number of a message into it.
func Payload(size int) ([]byte, error) {
	const head, tail = `{"seq":"0000000000","sensor":"`, `"}`
	if size < smallestPayload {
		return nil, fmt.Errorf("a payload of %d bytes is too small: the smallest is %d", size, smallestPayload)
	}
	b := append(make([]byte, 0, size), head...)
	for len(b) < size-len(tail) {
		b = append(b, "temperature 21.5 humidity 48 "[(len(b)-len(head))%29])
	}
	return append(b, tail...), nil
}

// Number writes the number of a message into its payload: ten digits at offset 8.
func Number(payload []byte, n uint32) {
	for i := 17; i >= 8; i-- {
		payload[i] = '0' + byte(n%10)
		n /= 10
	}
}
