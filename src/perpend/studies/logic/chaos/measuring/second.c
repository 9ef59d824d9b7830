/* The second method: extrapolation of the modified midpoint rule (Gragg, Bulirsch, Stoer), and exponents from displaced
 * orbits. Nothing is shared with orbit.c but the right-hand side; no derivative of it is used.
 *
 * A bundle is the orbit and, behind it, pairs of orbits displaced by +EPSILON and -EPSILON of the size along orthogonal
 * directions. All are stepped together, so that the errors of a pair are nearly the same and leave their difference.
 */
enum { ROWS = 6, DONE = 0, ESCAPE = 1, CAPPED = 2, BROKEN = 3 };
static const double circle[N] = TURNS;
static const double EPSILON = 1e-6;

typedef struct {
    const double *q;
    double tolerance, longest, bound, h;
    long steps, cap;
    double least[N], most[N];
} Journey;

static void derivative(const Journey *j, int orbits, double t, const double *z, double *out) {
    for (int o = 0; o < orbits; o++) rate(t, z + o * N, j->q, out + o * N);
}

/* The modified midpoint rule in n pieces with Gragg's smoothing. */
static void midpoint(const Journey *j, int orbits, double t, double h, int n, const double *z, const double *slope,
                     double *end) {
    const int size = orbits * N;
    const double piece = h / n;
    double a[size], b[size], f[size];
    for (int i = 0; i < size; i++) a[i] = z[i], b[i] = z[i] + piece * slope[i];
    for (int s = 1; s < n; s++) {
        derivative(j, orbits, t + s * piece, b, f);
        for (int i = 0; i < size; i++) {
            double next = a[i] + 2.0 * piece * f[i];
            a[i] = b[i];
            b[i] = next;
        }
    }
    derivative(j, orbits, t + h, b, f);
    for (int i = 0; i < size; i++) end[i] = 0.5 * (a[i] + b[i] + piece * f[i]);
}

/* A step by polynomial extrapolation in the square of the piece; returns the error in units of the tolerance. */
static double extrapolate(const Journey *j, int orbits, double t, double h, const double *z, double *end) {
    const int size = orbits * N;
    double slope[size], table[ROWS][size], error = 0.0;
    derivative(j, orbits, t, z, slope);
    for (int r = 0; r < ROWS; r++) {
        double line[size];
        midpoint(j, orbits, t, h, 2 * (r + 1), z, slope, line);
        for (int c = 0; c < r; c++) {
            double ratio = (double)(r + 1) / (double)(r - c);
            double weight = 1.0 / (ratio * ratio - 1.0);
            for (int i = 0; i < size; i++) {
                double better = line[i] + (line[i] - table[c][i]) * weight;
                table[c][i] = line[i];
                line[i] = better;
            }
        }
        for (int i = 0; i < size; i++) table[r][i] = line[i];
    }
    for (int i = 0; i < size; i++) {
        int v = i % N;
        double scale = circle[v] != 0.0 ? circle[v] : fabs(z[i]) + 1e-3 * fmax(fabs(j->least[v]), fabs(j->most[v]));
        double here = fabs(table[ROWS - 1][i] - table[ROWS - 2][i]) / (j->tolerance * scale + 1e-200);
        end[i] = table[ROWS - 1][i];
        if (here != here) return here;
        error = fmax(error, here);
    }
    return error;
}

static int inspect(Journey *j, const double *x) {
    for (int v = 0; v < N; v++) {
        if (x[v] != x[v]) return BROKEN;
        if (circle[v] == 0.0 && fabs(x[v]) > j->bound) return ESCAPE;
        j->least[v] = fmin(j->least[v], x[v]);
        j->most[v] = fmax(j->most[v], x[v]);
    }
    return DONE;
}

static void depart(Journey *j, const double *q, const double *x, double tolerance, double longest, long cap) {
    double size = 1.0;
    *j = (Journey){.q = q, .tolerance = tolerance, .longest = longest, .cap = cap, .h = 1e-3 * longest};
    for (int v = 0; v < N; v++) {
        size = fmax(size, fabs(x[v]));
        j->least[v] = j->most[v] = x[v];
    }
    j->bound = 1e6 * size;
}

/* One accepted step of at most `room`; *taken is its length. */
static int stride(Journey *j, int orbits, double t, double room, double *z, double *taken) {
    double end[orbits * N];
    for (;;) {
        double h = fmin(fmin(j->h, j->longest), room);
        if (j->steps >= j->cap) return CAPPED;
        j->steps++;
        double e = extrapolate(j, orbits, t, h, z, end);
        double factor = e < INFINITY ? 0.9 * pow(e + 1e-20, -1.0 / (2 * ROWS - 1)) : 0.1;
        factor = fmin(fmax(factor, 0.1), 2.5);
        if (e <= 1.0) {
            if (h == j->h || h * factor > j->h) j->h = h * factor;
            for (int i = 0; i < orbits * N; i++) z[i] = end[i];
            *taken = h;
            return inspect(j, z);
        }
        j->h = h * factor;
        if (!(j->h > 1e-13 * (j->longest + 1e-2 * fabs(t)))) return BROKEN;
    }
}

static void wrap(double *x) {
    for (int v = 0; v < N; v++)
        if (circle[v] != 0.0) x[v] -= circle[v] * floor(x[v] / circle[v]);
}

int second_advance(const double *p, double *x, double t, double span, double tolerance, double longest, long cap,
                   long *steps, double *passed, double *low, double *high) {
    double q[SETTLED], taken;
    Journey j;
    int status = DONE;
    settle(p, q);
    depart(&j, q, x, tolerance, longest, cap);
    *passed = 0.0;
    while (status == DONE && *passed < span) {
        if (MAP) {
            double next[N];
            if (j.steps >= cap) { status = CAPPED; break; }
            j.steps++;
            rate(t + *passed, x, q, next);
            for (int v = 0; v < N; v++) x[v] = next[v];
            *passed += 1.0;
            status = inspect(&j, x);
            wrap(x);
        } else {
            status = stride(&j, 1, t + *passed, span - *passed, x, &taken);
            if (status != CAPPED && status != BROKEN) *passed = taken == span - *passed ? span : *passed + taken;
        }
    }
    if (!MAP) wrap(x);
    for (int v = 0; v < N; v++) low[v] = j.least[v], high[v] = j.most[v];
    *steps = j.steps;
    return status;
}

/* Directions from the displaced pairs, their heights' logarithms to growth, and pairs displaced anew: by Householder
 * reflections, so that nothing is orthogonal only up to a condition number. */
static void displace(double *z, int count, const double *unit, double *growth, double *frame) {
    double a[N * N];
    for (int c = 0; c < count; c++)
        for (int v = 0; v < N; v++)
            a[c * N + v] = growth ? (z[(1 + 2 * c) * N + v] - z[(2 + 2 * c) * N + v]) / (2.0 * EPSILON * unit[v])
                                  : (v == c ? 1.0 : 0.0);
    double beta[N];
    for (int c = 0; c < count; c++) { /* column c of a, below its diagonal, becomes the reflection's vector */
        double norm = 0.0;
        for (int v = c; v < N; v++) norm += a[c * N + v] * a[c * N + v];
        norm = sqrt(norm);
        if (growth) growth[c] += log(fmax(norm, 1e-150));
        double head = a[c * N + c], shift = head >= 0.0 ? head + norm : head - norm;
        double square = norm * norm - head * head + shift * shift;
        beta[c] = square > 0.0 ? 2.0 / square : 0.0;
        a[c * N + c] = shift;
        for (int d = c + 1; d < count; d++) {
            double dot = 0.0;
            for (int v = c; v < N; v++) dot += a[c * N + v] * a[d * N + v];
            for (int v = c; v < N; v++) a[d * N + v] -= beta[c] * dot * a[c * N + v];
        }
    }
    for (int d = 0; d < count; d++) {
        double *e = frame + d * N;
        for (int v = 0; v < N; v++) e[v] = v == d ? 1.0 : 0.0;
        for (int c = count - 1; c >= 0; c--) {
            double dot = 0.0;
            for (int v = c; v < N; v++) dot += a[c * N + v] * e[v];
            for (int v = c; v < N; v++) e[v] -= beta[c] * dot * a[c * N + v];
        }
        for (int v = 0; v < N; v++) {
            z[(1 + 2 * d) * N + v] = z[v] + EPSILON * unit[v] * e[v];
            z[(2 + 2 * d) * N + v] = z[v] - EPSILON * unit[v] * e[v];
        }
    }
}

/* The growth of displacements, measured in units of each variable's own size, over `count` intervals. */
int second_exponents(const double *p, double *x, double t, double interval, long count, double tolerance,
                     double longest, long cap, int exponents, const double *unit, double *growth, double *states,
                     double *low, double *high, long *steps, long *finished, double *passed) {
    const int orbits = 1 + 2 * exponents;
    double q[SETTLED], z[orbits * N], frame[N * N], logs[N], taken;
    Journey j;
    int status = DONE;
    settle(p, q);
    depart(&j, q, x, tolerance, longest, cap);
    for (int v = 0; v < N; v++) z[v] = x[v];
    displace(z, exponents, unit, 0, frame);
    *finished = 0;
    *passed = 0.0;
    for (long n = 0; n < count && status == DONE; n++) {
        double done = 0.0, from = t + n * interval;
        for (int c = 0; c < exponents; c++) logs[c] = 0.0;
        while (status == DONE && done < interval) {
            if (MAP) {
                double next[orbits * N];
                if (j.steps >= cap) { status = CAPPED; break; }
                j.steps++;
                derivative(&j, orbits, from + done, z, next);
                for (int i = 0; i < orbits * N; i++) z[i] = next[i];
                done += 1.0;
                status = inspect(&j, z);
            } else {
                double room = interval - done;
                status = stride(&j, orbits, from + done, room, z, &taken);
                if (status == CAPPED || status == BROKEN) break;
                done = taken == room ? interval : done + taken;
            }
            if (status != DONE) break;
            if (!MAP && done < interval) {
                displace(z, exponents, unit, logs, frame);
                continue;
            }
            /* Only the middle orbit is wrapped, after the differences were taken. */
            displace(z, exponents, unit, logs, frame);
            wrap(z);
            for (int d = 0; d < exponents; d++)
                for (int v = 0; v < N; v++) {
                    z[(1 + 2 * d) * N + v] = z[v] + EPSILON * unit[v] * frame[d * N + v];
                    z[(2 + 2 * d) * N + v] = z[v] - EPSILON * unit[v] * frame[d * N + v];
                }
        }
        *passed = n * interval + done;
        if (status == DONE) {
            for (int c = 0; c < exponents; c++) growth[n * exponents + c] = logs[c];
            for (int v = 0; v < N; v++) states[n * N + v] = z[v];
            *finished = n + 1;
        }
    }
    *steps = j.steps;
    for (int v = 0; v < N; v++) x[v] = z[v], low[v] = j.least[v], high[v] = j.most[v];
    return status;
}
