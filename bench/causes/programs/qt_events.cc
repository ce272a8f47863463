// A Qt event loop that shows what a worker posts to it. A client waits until its item is shown.
//
// Stalled: an indexer's event, which takes long to handle, is before the item's in the queue.
#include <QCoreApplication>
#include <QEvent>
#include <QMutex>
#include <QThread>
#include <QWaitCondition>
#include <cstring>

static bool stalled;
static const QEvent::Type SHOW = QEvent::User, INDEX = QEvent::Type(QEvent::User + 1);

struct Item {
    QMutex mutex;
    QWaitCondition shown;
    bool done = false;
};

struct Show : QEvent {
    Item &item;
    explicit Show(Item &item) : QEvent(SHOW), item(item) {}
};

struct Index : QEvent {
    int milliseconds;
    explicit Index(int milliseconds) : QEvent(INDEX), milliseconds(milliseconds) {}
};

__attribute__((noinline)) static void rebuild_index(int milliseconds) {
    QThread::msleep(milliseconds);
}

class Window : public QObject {
    bool event(QEvent *event) override {
        if (event->type() == SHOW) {
            Item &item = static_cast<Show *>(event)->item;
            QMutexLocker locked(&item.mutex);
            item.done = true;
            item.shown.wakeOne();
            return true;
        }
        if (event->type() == INDEX) {
            rebuild_index(static_cast<Index *>(event)->milliseconds);
            return true;
        }
        return QObject::event(event);
    }
};

static Window *window;

class Indexer : public QThread {
    void run() override {
        for (int turn = 0; turn < 70; turn++) {
            msleep(20);
            QCoreApplication::postEvent(window, new Index(stalled && turn == 60 ? 1200 : 1));
        }
    }
};

class Client : public QThread {
    __attribute__((noinline)) static void await_item(Item &item) {
        QMutexLocker locked(&item.mutex);
        while (!item.done)
            item.shown.wait(&item.mutex);
    }

    void run() override {
        for (int turn = 0; turn < 100; turn++) {
            Item item;
            QCoreApplication::postEvent(window, new Show(item));
            await_item(item);
            msleep(15);
        }
        QCoreApplication::quit();
    }
};

int main(int argc, char **argv) {
    QCoreApplication application(argc, argv);
    stalled = argc > 1 && std::strcmp(argv[1], "stalled") == 0;
    Window receiver;
    window = &receiver;
    Indexer indexer;
    Client client;
    indexer.setObjectName("indexer");
    client.setObjectName("client");
    indexer.start();
    client.start();
    int status = application.exec();
    indexer.wait();
    client.wait();
    return status;
}
