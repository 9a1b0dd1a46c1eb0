// SPDX-License-Identifier: MIT
#pragma once
inline int  bad( int x ){return x;}
