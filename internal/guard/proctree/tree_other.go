//go:build !linux

package proctree

// Members returns the root alone: this system does not tell who else belongs to it.
func Members(root int) ([]int, error) { return []int{root}, nil }
