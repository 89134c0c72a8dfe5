package energy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Month is what traffic is projected to.
const Month = 30 * 24 * time.Hour

// Projected is how much a device sends and receives in a month, of what it had in a time.
func Projected(bytes uint64, in time.Duration) float64 {
	return float64(bytes) * float64(Month) / float64(in)
}

// Tariff is what data costs a device.
type Tariff struct {
	Name     string  `json:"name"`
	Currency string  `json:"currency"`
	Fee      float64 `json:"fee_per_month"`
	Included float64 `json:"included_bytes"`
	PerMB    float64 `json:"price_per_mb"` // beyond what is included; a megabyte is 10^6 bytes
}

// megabyte is what operators count in.
const megabyte = 1e6

// Cost is the price of a month with so many bytes.
func (t *Tariff) Cost(bytes float64) float64 {
	return t.Fee + max(bytes-t.Included, 0)/megabyte*t.PerMB
}

// tariffForm says how a tariff is written.
const tariffForm = `write for example "basic: 0.50 EUR/month + 0.10 EUR/MB over 5 MB" or "flat: 2 EUR/month"`

// ParseTariff reads "NAME: FEE CUR/month + PRICE CUR/MB over N MB"; the fee, or the price, and what is included may be left out.
func ParseTariff(text string) (Tariff, error) {
	wrong := func(why string) (Tariff, error) {
		return Tariff{}, fmt.Errorf("%.80q is no tariff: %s; %s", text, why, tariffForm)
	}
	name, rest, ok := strings.Cut(text, ":")
	t := Tariff{Name: strings.TrimSpace(name)}
	if !ok || t.Name == "" {
		return wrong("it has no name")
	}
	rest, over, hasOver := strings.Cut(rest, " over ")
	for part := range strings.SplitSeq(rest, "+") {
		words := strings.Fields(part)
		if len(words) != 2 {
			return wrong("a price is a number and its unit")
		}
		price, err := strconv.ParseFloat(words[0], 64)
		if err != nil || !(price >= 0) || math.IsInf(price, 0) {
			return wrong(words[0] + " is no price")
		}
		currency, per, _ := strings.Cut(words[1], "/")
		if t.Currency != "" && currency != t.Currency {
			return wrong("it has two currencies")
		}
		t.Currency = currency
		switch per {
		case "month":
			t.Fee = price
		case "MB":
			t.PerMB = price
		default:
			return wrong("prices are per month or per MB")
		}
	}
	if hasOver {
		number, unit, _ := strings.Cut(strings.TrimSpace(over), " ")
		mb, err := strconv.ParseFloat(number, 64)
		if err != nil || !(mb >= 0) || unit != "MB" {
			return wrong("what is included is a number of MB")
		}
		t.Included = mb * megabyte
	}
	return t, nil
}
