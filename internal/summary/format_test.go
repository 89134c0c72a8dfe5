package summary

import (
	"math"
	"strings"
	"testing"
	"testing/quick"
)

var formats = []struct{ got, want string }{
	{Duration(0), "0 ns"},
	{Duration(999), "999 ns"},
	{Duration(1000), "1.00 µs"},
	{Duration(1234), "1.23 µs"},
	{Duration(99_950), "100 µs"},
	{Duration(999_499), "999 µs"},
	{Duration(999_500), "1.00 ms"},
	{Duration(12_345_678), "12.3 ms"},
	{Duration(2_000_000_000), "2.00 s"},
	{Duration(3_600_000_000_000), "3600 s"},
	{Duration(-1500), "-1.50 µs"},
	{Bytes(0), "0 B"},
	{Bytes(1023), "1023 B"},
	{Bytes(1024), "1.00 KiB"},
	{Bytes(20 << 20), "20.0 MiB"},
	{Bytes(3 << 40), "3.00 TiB"},
	{Count(0), "0"},
	{Count(999), "999"},
	{Count(1000), "1,000"},
	{Count(1234567), "1,234,567"},
	{Number(0), "0"},
	{Number(0.5), "0.5"},
	{Number(0.00123456), "0.001235"},
	{Number(99.96), "99.96"},
	{Number(999.96), "1,000"},
	{Number(1234.5), "1,234"},
	{Number(123456.7), "123,457"},
	{Number(-12345.6), "-12,346"},
	{Rate(1000), "1,000/s"},
	{Percent(0, 0), "n/a"},
	{Percent(0, 9), "0 %"},
	{Percent(9, 9), "100 %"},
	{Percent(1, 3), "33.3 %"},
	{Percent(1, 1_000_000), "0.0001 %"},
	{Percent(999_999, 1_000_000), "99.9999 %"},
	{Percent(9_999, 10_000), "99.99 %"},
	{Percent(995, 1000), "99.5 %"},
	{Percent(3, 2), "150 %"},
	{Ratio(0.95), "95.0 %"},
	{Ratio(1.0000001), "100 %"},
	{Factor(1.234), "1.23×"},
	{Factor(2.345), "2.35×"},
	{Factor(23.45), "23.4×"},
	{Factor(2345), "2,345×"},
	{Factor(1), "1.00×"},
	{Factor(1.0004), "1.0004×"},
	{Factor(0.9999), "0.9999×"},
	{Factor(0.5), "0.500×"},
	{Range("1.9×", "2.8×"), "1.9–2.8×"},
	{Range("1.2 %", "3.4 %"), "1.2–3.4 %"},
	{Range("110 µs", "130 µs"), "110–130 µs"},
	{Range("990 µs", "1.01 ms"), "990 µs–1.01 ms"},
	{Range("1,000", "1,010"), "1,000–1,010"},
	{Nanoseconds.Format(1499.6), "1.50 µs"},
	{PerSecond.Format(1000), "1,000"},
	{Part.Format(0.5), "50.0 %"},
	{Size.Format(2048), "2.00 KiB"},
	{Probability(0.0004), "0.001 or less"},
	{Probability(0.314), "0.31"},
}

func TestFormats(t *testing.T) {
	for _, c := range formats {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// TestPartsAreNeverAllOrNothing: whatever the numbers, a part is not called 100 % nor 0 %.
func TestPartsAreNeverAllOrNothing(t *testing.T) {
	check := func(a, b uint64) bool {
		den := max(a%1_000_000_000, b%1_000_000_000, 2)
		num := 1 + min(a%1_000_000_000, b%1_000_000_000)%(den-1)
		for _, n := range []uint64{num, 1, den - 1} {
			if s := Percent(n, den); strings.HasPrefix(s, "100") || strings.Trim(s, "0. %") == "" {
				t.Logf("%d of %d is %q", n, den, s)
				return false
			}
		}
		return true
	}
	if err := quick.Check(check, nil); err != nil {
		t.Error(err)
	}
	if s := Ratio(math.Nextafter(1, 0)); strings.HasPrefix(s, "100") {
		t.Errorf("the largest ratio below one is %q", s)
	}
}
