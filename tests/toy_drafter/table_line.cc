// The line that puts the toy drafter into the table. A drafter of the program's own has its line in
// src/draft/catalogue/algorithms.cc.
#include "draft/catalogue/algorithms.h"

FORETOKEN_ADD_ALGORITHM(kRepeat)
