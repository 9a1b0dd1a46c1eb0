// SPDX-License-Identifier: MIT
#pragma once
// Words that headers of other projects define as macros. Each of them is an error wherever it is
// used. <tq/config.hpp> has the words that tq refuses by name.

// Qt, without QT_NO_KEYWORDS
#define emit @
#define foreach @
#define forever @
#define signals @
#define slots @

// Windows: minwindef.h, rpcndr.h, combaseapi.h, wingdi.h, winnt.h
#define cdecl @
#define far @
#define hyper @
#define interface @
#define near @
#define pascal @
#define small @
#define ABSOLUTE @
#define ALTERNATE @
#define CONST @
#define DELETE @
#define DIFFERENCE @
#define ERROR @
#define FALSE @
#undef FAR
#define FAR @
#define GetObject @
#define IGNORE @
#define IN @
#define NEAR @
#define NO_ERROR @
#define OPAQUE @
#define OPTIONAL @
#define OUT @
#define RELATIVE @
#define STRICT @
#define THIS @
#define TRANSPARENT @
#define TRUE @
#define VOID @

// X11: X.h, Xlib.h, Xutil.h
#define Above @
#define Always @
#define Below @
#define Bool @
#define Complex @
#define Convex @
#define CurrentTime @
#define Expose @
#define False @
#define FocusIn @
#define FocusOut @
#define GrayScale @
#define KeyPress @
#define LSBFirst @
#define MSBFirst @
#define Nonconvex @
#define None @
#define Opposite @
#define Status @
#define Success @
#define True @
#define Unsorted @

// Arduino: Arduino.h, binary.h, Print.h
#define A0 @
#define A1 @
#define B0 @
#define B1 @
#define B00 @
#define B01 @
#define B10 @
#define B11 @
#define BIN @
#define DEC @
#define DEFAULT @
#define DISPLAY @
#define EXTERNAL @
#define F(text) @
#define HEX @
#define HIGH @
#define INPUT @
#define INTERNAL @
#define LOW @
#define OCT @
#define OUTPUT @
#define PI @
#define SERIAL @
#define bit(b) @
#define constrain(x, low, high) @
#define degrees(x) @
#define interrupts() @
#define radians(x) @
#define sq(x) @
#define word(...) @

// <sys/sysmacros.h>, <complex.h> (whose `complex` C++ has in its own library), compilers in GNU
// modes
#define imaginary @
#undef linux
#define linux @
#define major(device) @
#define makedev(major, minor) @
#define minor(device) @
#undef unix
#define unix @
