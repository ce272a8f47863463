// What traps ask of the library as a whole.
#ifndef WHYPERF_OBSERVATION_OBSERVATION_H
#define WHYPERF_OBSERVATION_OBSERVATION_H

// In a child with a copy of its parent's memory: from now on it records for itself.
void observation_begins_in_child(void);

#endif
