// Package proctree finds the processes that belong to one we started, and signals all of them.
//
// On Linux a tree is the root, everything in its process group or session, and every descendant of those. Elsewhere it
// is the process group of the root (Windows: the root alone).
package proctree
