#include "kiosk.h"

void queue_put(struct queue *queue, struct request request) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == QUEUE_ROOM) {
        pthread_cond_wait(&queue->emptied, &queue->lock);
    }
    queue->waiting[(queue->first + queue->count++) % QUEUE_ROOM] = request;
    pthread_cond_signal(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}

int queue_take(struct queue *queue, struct request *request) {
    pthread_mutex_lock(&queue->lock);
    while (queue->count == 0 && !queue->closed) {
        pthread_cond_wait(&queue->filled, &queue->lock);
    }
    int taken = queue->count > 0;
    if (taken) {
        *request = queue->waiting[queue->first];
        queue->first = (queue->first + 1) % QUEUE_ROOM;
        queue->count--;
        pthread_cond_signal(&queue->emptied);
    }
    pthread_mutex_unlock(&queue->lock);
    return taken;
}

void queue_close(struct queue *queue) {
    pthread_mutex_lock(&queue->lock);
    queue->closed = 1;
    pthread_cond_broadcast(&queue->filled);
    pthread_mutex_unlock(&queue->lock);
}
