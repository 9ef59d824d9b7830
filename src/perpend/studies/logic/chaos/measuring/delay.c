/* Orbits of a delay equation of one variable: Runge and Kutta's fourth-order rule on a grid of which the delay is a
 * whole multiple, the past between grid points by Hermite's cubic. Tangent vectors are histories and follow the same
 * rule, linearised. The text of the system comes before: rate() and linear() take {now, past}.
 */
#include <stdlib.h>
enum { FINE = 0, GONE = 1, STOPPED = 2, BAD = 3 };

/* One history: values and slopes at the grid points of one delay, the oldest at `oldest`. */
typedef struct { double *x, *f; } Line;

static void orthogonal(Line *v, int m, long points, double *logs) {
    for (int a = 0; a < m; a++) {
        double norm = 0.0;
        for (int b = 0; b < a; b++) {
            double dot = 0.0;
            for (long i = 0; i < points; i++) dot += v[a].x[i] * v[b].x[i];
            for (long i = 0; i < points; i++) v[a].x[i] -= dot * v[b].x[i], v[a].f[i] -= dot * v[b].f[i];
        }
        for (long i = 0; i < points; i++) norm += v[a].x[i] * v[a].x[i];
        norm = fmax(sqrt(norm), 1e-150);
        logs[a] += log(norm);
        for (long i = 0; i < points; i++) v[a].x[i] /= norm, v[a].f[i] /= norm;
    }
}

/* `history` has points values and then points slopes, oldest first; it is replaced by the last. Interval n ends at the
 * grid point nearest to (n + 1) interval. */
int delay_follow(const double *p, double *history, long points, double dt, double t, double interval, long count,
                 long cap, int m, double *growth, double *states, double *extremes, long *steps, long *finished) {
    double q[SETTLED], j[VARYING], *room = calloc((size_t)(2 * points * (m + 1)), sizeof(double));
    double logs[m + 1], bound = 1e6, z[2], k2, k3, k4, slope;
    Line line[m + 1], *v = line + 1;
    long oldest = 0, done = 0, since = 0, often = points > 8 ? points / 4 : 1;
    int status = FINE;
    if (room == 0) return BAD;
    settle(p, q);
    for (int a = 0; a <= m; a++) line[a] = (Line){room + 2 * a * points, room + (2 * a + 1) * points};
    for (long i = 0; i < points; i++) {
        line[0].x[i] = history[i];
        line[0].f[i] = history[points + i];
        if (1e6 * fabs(history[i]) > bound) bound = 1e6 * fabs(history[i]);
        for (int a = 0; a < m; a++) {
            double turn = M_PI * a / (double)(points - 1);
            v[a].x[i] = cos(turn * (double)i);
            v[a].f[i] = -turn / dt * sin(turn * (double)i);
        }
    }
    /* A history may arrive at the start with another slope than it leaves it with. */
    const double arrival = line[0].f[points - 1];
    z[0] = line[0].x[points - 1], z[1] = line[0].x[0];
    rate(t, z, q, &line[0].f[points - 1]);
    for (int a = 0; a <= m; a++) logs[a] = 0.0;
    orthogonal(v, m, points, logs);
    extremes[0] = extremes[1] = history[points - 1];
    *finished = 0;
    for (long n = 0; n < count && status == FINE; n++) {
        long end = lround((double)(n + 1) * interval / dt);
        for (int a = 0; a < m; a++) logs[a] = 0.0;
        for (; done < end && status == FINE; done++) {
            long now = (oldest + points - 1) % points, next = (oldest + 1) % points;
            double at = t + (double)done * dt, *x = line[0].x, *f = line[0].f;
            double d1[m + 1], d2[m + 1], d3[m + 1], d4[m + 1], d5[m + 1], w[2];
            double after = done == points - 2 ? arrival : f[next];
            double middle = 0.5 * (x[oldest] + x[next]) + 0.125 * dt * (f[oldest] - after);
            if (done >= cap) {
                status = STOPPED;
                break;
            }
#define STAGE(K, T, X, P, D, V, PAST)                                  \
    z[0] = (X), z[1] = (P);                                            \
    if (m == 0) {                                                      \
        rate((T), z, q, &(K));                                         \
    } else {                                                           \
        linear((T), z, q, &(K), j);                                    \
        for (int a = 0; a < m; a++) {                                  \
            double *vx = v[a].x, *vf = v[a].f;                         \
            (void)vf;                                                  \
            w[0] = (V), w[1] = (PAST);                                 \
            spread(j, q, w, (D) + a);                                  \
        }                                                              \
    }
#define BETWEEN (0.5 * (vx[oldest] + vx[next]) + 0.125 * dt * (vf[oldest] - vf[next]))
            STAGE(slope, at, x[now], x[oldest], d1, vx[now], vx[oldest])
            STAGE(k2, at + 0.5 * dt, x[now] + 0.5 * dt * slope, middle, d2, vx[now] + 0.5 * dt * d1[a], BETWEEN)
            STAGE(k3, at + 0.5 * dt, x[now] + 0.5 * dt * k2, middle, d3, vx[now] + 0.5 * dt * d2[a], BETWEEN)
            STAGE(k4, at + dt, x[now] + dt * k3, x[next], d4, vx[now] + dt * d3[a], vx[next])
            double reached = x[now] + dt / 6.0 * (slope + 2.0 * k2 + 2.0 * k3 + k4);
            for (int a = 0; a < m; a++) {
                double *vx = v[a].x;
                vx[oldest] = vx[now] + dt / 6.0 * (d1[a] + 2.0 * d2[a] + 2.0 * d3[a] + d4[a]);
            }
            x[oldest] = reached;
            double there;
            STAGE(there, at + dt, reached, x[next], d5, vx[oldest], vx[next])
            f[oldest] = there;
            for (int a = 0; a < m; a++) v[a].f[oldest] = d5[a];
            oldest = next;
            if (reached != reached) status = BAD;
            if (fabs(reached) > bound) status = GONE;
            extremes[0] = fmin(extremes[0], reached);
            extremes[1] = fmax(extremes[1], reached);
            if (m > 0 && (++since >= often || done + 1 == end)) {
                orthogonal(v, m, points, logs);
                since = 0;
            }
        }
        if (status == FINE) {
            for (int a = 0; a < m; a++) growth[n * m + a] = logs[a];
            states[n] = line[0].x[(oldest + points - 1) % points];
            *finished = n + 1;
        }
    }
    for (long i = 0; i < points; i++) {
        history[i] = line[0].x[(oldest + i) % points];
        history[points + i] = line[0].f[(oldest + i) % points];
    }
    *steps = done;
    free(room);
    return status;
}
