// SPDX-License-Identifier: GPL-2.0-or-later
// What operations do to the lanes of their operands.
#ifndef WHYPERF_DEPENDENCES_LANES_H
#define WHYPERF_DEPENDENCES_LANES_H

#include "parts.h"

// Made of all of one or two values, lanes mixed; b may be NULL.
Value lanes_computed(const Value *a, const Value *b);
// Lanes [from, from + count) of a vector, as lanes [0, count) of the result.
Value lanes_slice(const Value *vector, UInt from, UInt count);
// A vector of 2 * half lanes out of its halves.
Value lanes_joined(const Value *high, const Value *low, UInt half);
// Bytes of an integer that remain when it is narrowed to one or two bytes.
Value lanes_narrowed(const Value *integer, UInt bytes);
// The lowest lanes are computed, the others remain a's.
Value lanes_of_scalar(const Value *a, const Value *b, UInt lanes);
// Units of `unit` lanes from lane `from` on, in turn: b gives the even ones, a the odd ones.
Value lanes_interleaved(const Value *a, const Value *b, UInt from, UInt unit);
// Each lane of the operands' same lane.
Value lanes_each(const Value *a, const Value *b);
// Lanes that a constant mask clears depend on nothing: this is how blends are written.
void lanes_masked(Value *value, const IRExpr *mask);
// xor, sub and equality of a register with itself do not depend on it: the ways to write 0 and -1.
Bool lanes_idiom(IROp op, const Value *a, const Value *b);

#endif
