#!/bin/sh
# core
start() {
    echo starting
}

stop() {
    echo stopping
}

status() {
    echo unknown
}
