/* Reads the header of a photo and prints how many entries it has. */
#include <libexif/exif-data.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    static unsigned char text[65536];
    FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
    if (!file)
        return 1;
    size_t length = fread(text, 1, sizeof text, file);
    fclose(file);
    ExifData *photo = exif_data_new_from_data(text, (unsigned int)length);
    if (!photo)
        return 1;
    for (int place = 0; place < EXIF_IFD_COUNT; place++)
        printf("%s: %u\n", exif_ifd_get_name((ExifIfd)place), photo->ifd[place]->count);
    exif_data_unref(photo);
    return 0;
}
