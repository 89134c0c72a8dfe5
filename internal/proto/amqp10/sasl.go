package amqp10

import "slices"

// symbols returns an array of symbols, or one symbol alone.
func (v *value) symbols() (names []string, ok bool) {
	if v.code == codeSymbol8 || v.code == codeSymbol32 {
		return []string{string(v.data)}, true
	}
	r := reader{rest: v.data}
	var count int
	switch v.code {
	case codeArray8:
		count = int(r.u8())
	case codeArray32:
		count = int(r.u32())
	default:
		return nil, v.null()
	}
	for code := r.u8(); count > 0 && !r.bad; count-- {
		one := value{code: code, data: r.data(code)}
		text, ok := one.text()
		if !ok {
			return nil, false
		}
		names = append(names, string(text))
	}
	return names, !r.bad
}

func appendMechanisms(out []byte, names ...string) []byte {
	out, start := beginFrame(out, saslMechanisms)
	return endFrame(appendSymbols(out, names), start, 1)
}

func appendInit(out []byte, mechanism, response, host string) []byte {
	out, start := beginFrame(out, saslInit)
	out = appendText(out, codeSymbol8, mechanism)
	out = appendText(out, codeBinary8, response)
	return endFrame(appendName(out, codeString8, host), start, 3)
}

func appendOutcome(out []byte, code byte) []byte {
	out, start := beginFrame(out, saslOutcome)
	return endFrame(append(out, codeUByte, code), start, 1)
}

// readMechanisms takes sasl-mechanisms; ok tells that it offers the one wanted.
func readMechanisms(f *frame, wanted string) (offered []string, ok bool, err error) {
	v := f.fields.next()
	offered, ok = v.symbols()
	if !ok || f.fields.bad {
		return nil, false, errMalformed(saslMechanisms)
	}
	return offered, slices.Contains(offered, wanted), nil
}
