// SPDX-License-Identifier: Apache-2.0
typedef struct node {
    int value;
    global struct node *next;
} node;

struct inner {
    char tag;
    short3 v;
};

struct outer {
    struct inner in[3];
    double d;
    union {
        float f;
        uint u;
    } either;
    long padding;
};

struct __attribute__((packed)) tight {
    char c;
    int i;
    double d;
};

kernel void walk(global node *first, global int *sum) {
    int total = 0;
    for (global node *n = first; n; n = n->next)
        total += n->value;
    *sum = total;
}

kernel void packed_members(global struct tight *t, constant struct tight *c) {
    const size_t i = get_global_id(0);
    t[i].i += c->i;
    t[i].d *= c->d;
}

static struct outer made(int n) {
    struct outer o = {{{1, 2}, {3, 4}, {5, 6}}, 7.0, {8.0f}, 9};
    o.in[n & 1].tag = n;
    return o;
}

kernel void returned(global struct outer *out) {
    out[get_global_id(0)] = made(get_global_id(0));
}
