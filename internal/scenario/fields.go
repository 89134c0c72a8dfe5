package scenario

import (
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// field is one key of a scenario and the Go value behind it.
type field struct {
	key   string // dotted, as far as it was walked
	value reflect.Value
	tag   reflect.StructTag
}

// fields are the keys directly below a struct.
func fields(prefix string, v reflect.Value) []field {
	var list []field
	for i := range v.NumField() {
		tag := v.Type().Field(i).Tag
		switch name := tag.Get("yaml"); name {
		case "", "-":
		case ",inline":
			list = append(list, fields(prefix, v.Field(i))...)
		default:
			list = append(list, field{join(prefix, name), v.Field(i), tag})
		}
	}
	return list
}

func join(prefix, name string) string {
	if prefix == "" {
		return name
	}
	return prefix + "." + name
}

// names are the last parts of the keys.
func names(list []field) []string {
	short := make([]string, len(list))
	for i, f := range list {
		short[i] = f.key[strings.LastIndexByte(f.key, '.')+1:]
	}
	return short
}

// single reports whether the key holds one value, not a list or a group of keys.
func (f field) single() bool {
	return f.value.Kind() != reflect.Slice && f.value.Kind() != reflect.Struct ||
		f.value.Type() == reflect.TypeFor[Rate]() || f.value.Type() == reflect.TypeFor[Amount]() || f.machine() || f.faults()
}

// faults reports whether the key holds the faults: a list that may be written as one value.
func (f field) faults() bool { return f.value.Type() == reflect.TypeFor[[]Fault]() }

// machine reports whether the key holds a machine: one value that may be written as a group of its parts.
func (f field) machine() bool { return f.value.Type() == reflect.TypeFor[Machine]() }

// group reports whether the key holds further keys.
func (f field) group() bool { return f.value.Kind() == reflect.Struct && !f.single() }

// lookup finds a dotted key below the struct root. A group with a short form stands for that member of it. If there is
// no such key, the error says which was probably meant.
func lookup(root reflect.Value, key string) (field, error) {
	f := field{value: root}
	for name := range strings.SplitSeq(key, ".") {
		if !f.group() {
			return f, fmt.Errorf("unknown key; %s has no keys below it", f.key)
		}
		next, err := member(root, f, name)
		if err != nil {
			return f, err
		}
		f = next
	}
	if short := f.tag.Get("short"); short != "" && f.group() {
		return member(root, f, short)
	}
	return f, nil
}

// member finds one key of a group. The suggestion for an unknown one comes from its siblings, or from anywhere below
// root where the very same name exists.
func member(root reflect.Value, group field, name string) (field, error) {
	siblings := fields(group.key, group.value)
	for i, n := range names(siblings) {
		if n == name {
			return siblings[i], nil
		}
	}
	if elsewhere := find(fields("", root), name); elsewhere != "" {
		return field{}, fmt.Errorf("unknown key; did you mean %q?", elsewhere)
	}
	return field{}, errors.New("unknown key; " + Suggest(name, names(siblings)))
}

// find returns the first key, at any depth, whose last part is name.
func find(list []field, name string) string {
	for i, n := range names(list) {
		if n == name {
			return list[i].key
		}
		if list[i].group() {
			if key := find(fields(list[i].key, list[i].value), name); key != "" {
				return key
			}
		}
	}
	return ""
}

// set reads a text into a single-valued key. On an error the value stays as it was.
func (f field) set(text string) error {
	switch p := f.value.Addr().Interface().(type) {
	case *string:
		return assign(p, text, f.oneOf(text))
	case *bool:
		if text != "true" && text != "false" {
			return fmt.Errorf("%q is neither true nor false", text)
		}
		return assign(p, text == "true", nil)
	case *int:
		n, err := strconv.Atoi(text)
		if err != nil {
			return fmt.Errorf("%q is no whole number", text)
		}
		return assign(p, n, f.within(int64(n), plainInt, parseInt))
	case **uint64:
		n, err := strconv.ParseUint(text, 10, 53)
		if err != nil {
			return fmt.Errorf("%q is no whole number from 0 to 2^53-1", text)
		}
		return assign(p, &n, nil)
	case *time.Duration:
		d, err := f.duration(text)
		if err != nil {
			return err
		}
		return assign(p, d, f.withinTime(d))
	case *Size:
		n, err := parseSize(text)
		if err != nil {
			return err
		}
		return assign(p, Size(n), f.within(n, plainBytes, parseInt))
	case *ByteRate:
		return parsed(p, text, parseByteRate)
	case *Rate:
		return parsed(p, text, parseRate)
	case *Amount:
		return parsed(p, text, parseAmount)
	case *Share:
		return parsed(p, text, parseShare)
	case *BitRate:
		return parsed(p, text, parseBitRate)
	case *Packets:
		return parsed(p, text, parsePackets)
	case *Machine:
		return parsed(p, text, parseMachine)
	case *[]Fault:
		return parsed(p, text, parseFaults)
	case *Fault:
		return parsed(p, text, parseFault)
	case *Factor:
		return parsed(p, text, parseFactor)
	case *Backoff:
		return parsed(p, text, parseBackoff)
	case *Quantum:
		return parsed(p, text, parseQuantum)
	}
	return fmt.Errorf("a %s cannot be set", f.value.Type())
}

func parsed[T any](p *T, text string, parse func(string) (T, error)) error {
	value, err := parse(text)
	return assign(p, value, err)
}

func assign[T any](p *T, value T, err error) error {
	if err == nil {
		*p = value
	}
	return err
}

func plainInt(n int64) string { return strconv.FormatInt(n, 10) }

func plainBytes(n int64) string { return strconv.FormatInt(n, 10) + " bytes" }

func parseInt(s string) int64 {
	n, _ := strconv.ParseInt(s, 10, 64)
	return n
}

func (f field) oneOf(text string) error {
	known := strings.Fields(f.tag.Get("oneof"))
	if len(known) == 0 {
		return nil
	}
	for _, k := range known {
		if k == text {
			return nil
		}
	}
	if text == "max" && f.key == "load.pacing" {
		return errors.New("max is a rate: write rate: max")
	}
	return fmt.Errorf("%q is unknown; %s", text, Suggest(text, known))
}

// duration reads a time; some keys have a word for the longest, which stands for no end.
func (f field) duration(text string) (time.Duration, error) {
	never := f.tag.Get("never")
	if never != "" && text == "never" {
		text = never
	}
	d, err := parseDuration(text)
	if err != nil && never != "" {
		return 0, fmt.Errorf("%w; or never", err)
	}
	return d, err
}

func (f field) withinTime(d time.Duration) error {
	print := func(n int64) string { return time.Duration(n).String() }
	parse := func(s string) int64 {
		limit, _ := time.ParseDuration(s)
		return int64(limit)
	}
	if err := f.within(int64(d), print, parse); err != nil {
		return err
	}
	if unit := parse(f.tag.Get("whole")); unit > 0 && int64(d)%unit != 0 {
		return fmt.Errorf("%s is no whole number of seconds, as the protocol counts them", d)
	}
	return nil
}

// within checks the field's min and max.
func (f field) within(n int64, print func(int64) string, parse func(string) int64) error {
	least, most := f.tag.Get("min"), f.tag.Get("max")
	switch {
	case least != "" && most != "" && (n < parse(least) || n > parse(most)):
		return fmt.Errorf("%s is out of range: %s to %s", print(n), least, most)
	case least != "" && n < parse(least):
		return fmt.Errorf("%s is too little: at least %s", print(n), least)
	case most != "" && n > parse(most):
		return fmt.Errorf("%s is too much: at most %s", print(n), most)
	}
	return nil
}
