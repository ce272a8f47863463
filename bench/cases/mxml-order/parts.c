/* Reads a catalogue, finds its parts by their numbers, and prints how many there are and the first one. */
#include <mxml.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    if (!file)
        return 1;
    mxml_node_t *tree = mxmlLoadFile(NULL, file, MXML_OPAQUE_CALLBACK);
    fclose(file);
    mxml_index_t *parts = mxmlIndexNew(tree, "part", "number");
    if (!parts)
        return 1;
    mxml_node_t *first = mxmlIndexEnum(parts);
    printf("%d parts, %s\n", mxmlIndexGetCount(parts), mxmlElementGetAttr(first, "number"));
    mxmlIndexDelete(parts);
    mxmlDelete(tree);
    return 0;
}
