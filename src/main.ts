import { app } from '@azure/functions';

import { DayShards } from './analytics/day-shards.ts';
import { instantFromMilliseconds, type Instant } from './analytics/instant.ts';
import { Reader } from './analytics/reader.ts';
import { Recorder } from './analytics/recorder.ts';
import { CounterTable } from './analytics/table.ts';
import { lazyCredential } from './azure-credential.ts';
import { analyticsDay } from './http/analytics-day.ts';
import { analyticsRange } from './http/analytics-range.ts';
import { events } from './http/events.ts';
import { health } from './http/health.ts';
import { openApiHandler } from './http/openapi.ts';
import { testCallPaths, testCallSchemas } from './http/openapi-test-call.ts';
import { appLog } from './log.ts';
import { readSettings } from './settings.ts';
import { tableClient } from './table-client.ts';

/** Set by the build: true in a debug bundle, false in a release bundle, where what it guards is removed. */
declare const DEBUG: boolean;

// Settings: wrong ones stop the app here, with one error that names them all.
const settings = readSettings(process.env);

// Clients
const credential = lazyCredential();
const counters = new CounterTable(tableClient(settings.tables, 'analytics', credential));

// Analytics
const now = (): Instant => instantFromMilliseconds(Date.now());
const dayShards = new DayShards(counters, settings.counterShards);
const recorder = new Recorder(counters, dayShards, appLog);
const analytics = { reader: new Reader(counters, dayShards), now, categories: settings.detectionCategories };

app.http('AnalyticsRange', {
  route: 'analytics',
  methods: ['GET'],
  authLevel: 'function',
  handler: analyticsRange(analytics, settings.windowSeconds),
});
app.http('AnalyticsDay', {
  route: 'analytics/day',
  methods: ['GET'],
  authLevel: 'function',
  handler: analyticsDay(analytics),
});
app.http('RecordEvents', {
  route: 'events',
  methods: ['POST', 'OPTIONS'],
  authLevel: 'function',
  handler: events(recorder, now),
});
app.http('Health', { route: 'health', methods: ['GET'], authLevel: 'anonymous', handler: health(counters) });
app.http('OpenApi', {
  route: 'openapi.json',
  methods: ['GET'],
  authLevel: 'anonymous',
  handler: openApiHandler(DEBUG ? () => ({ paths: testCallPaths(), schemas: testCallSchemas() }) : undefined),
});

// What is under way is finished when the app is told to stop.
app.hook.appTerminate(async () => recorder.settled());

if (DEBUG) appLog.warn('debug build: test calls can be placed');
