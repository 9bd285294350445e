import { app } from '@azure/functions';

import { DayShards } from './analytics/rows/day-shards.ts';
import { instantFromMilliseconds, type Instant } from './analytics/model/instant.ts';
import { Reader } from './analytics/read/reader.ts';
import { Recorder } from './analytics/record/recorder.ts';
import { CLOSE_DAYS_SCHEDULE, closeDays } from './analytics/retention/close-days.ts';
import { CounterTable } from './analytics/rows/table.ts';
import { lazyCredential } from './azure/credential.ts';
import { AcsPhoneLine, connectToAcs } from './calls/acs/acs-phone-line.ts';
import { parseCallEvents } from './calls/acs/call-events.ts';
import { ALERT_TYPES } from './calls/alert-types.ts';
import { IdempotencyStore } from './calls/store/idempotency-store.ts';
import { CallFlow } from './calls/call-flow.ts';
import { CallLedger } from './calls/store/call-ledger.ts';
import { CallRequests } from './calls/store/call-requests.ts';
import { createTokenVerifier } from './calls/acs/callback-token.ts';
import { CallsTable } from './calls/store/calls-table.ts';
import { createCallPlacer, type PlaceCalls } from './calls/place-calls.ts';
import { analyticsDay } from './http/analytics-day.ts';
import { analyticsRange } from './http/analytics-range.ts';
import { apiDescription } from './http/api-description.ts';
import { callback } from './http/callback.ts';
import { health } from './http/health.ts';
import { recordEvents } from './http/record-events.ts';
import type { Route } from './http/route/route.ts';
import { sendNotification } from './http/send-notification.ts';
import { testCall } from './http/test-call.ts';
import { lazily } from './azure/lazily.ts';
import { appLog, invocationLog } from './log.ts';
import { readSettings } from './settings.ts';
import { tableClient } from './azure/table-client.ts';

/** Set by the build: true in a debug bundle, false in a release bundle, where what it guards is removed. */
declare const DEBUG: boolean;

// Settings: wrong ones stop the app here, with one error that names them all.
const settings = readSettings(process.env);

// Clients: made when they are first needed
const credential = lazyCredential();
const counters = new CounterTable(lazily(() => tableClient(settings.tables, 'analytics', credential)));
const calls = new CallsTable(lazily(() => tableClient(settings.tables, 'calls', credential)));
const acs = lazily(() => connectToAcs(settings.acs.connection, credential));

// Analytics
const now = (): Instant => instantFromMilliseconds(Date.now());
const dayShards = new DayShards(counters, settings.counterShards);
const recorder = new Recorder(counters, dayShards, appLog, { knownCategories: settings.detectionCategories });
const analytics = { reader: new Reader(counters, dayShards), now, categories: settings.detectionCategories };

// Phone calls
const line = new AcsPhoneLine(acs, { ...settings.acs, callbackBaseUrl: settings.callbackBaseUrl });
const flow = new CallFlow({ line, ledger: new CallLedger(calls), serviceName: settings.serviceName, log: appLog });
const requests = new CallRequests(calls);
const placeCalls = createCallPlacer({ line, flow, requests });
const verifyToken = createTokenVerifier(settings.acs);
if (verifyToken === undefined) appLog.warn('callbacks are not verified', { missing: 'ACS_RESOURCE_ID' });

const placeTestCalls = (): PlaceCalls => {
  const { testCallbackBaseUrl: callbackBaseUrl } = settings;
  return createCallPlacer({ line: new AcsPhoneLine(acs, { ...settings.acs, callbackBaseUrl }), flow, requests });
};

// Routes: the description of the API is made from the same list.
const routes: readonly Route[] = [
  analyticsRange(analytics, settings.windowSeconds),
  analyticsDay(analytics),
  recordEvents({ recorder, now }),
  sendNotification({ placeCalls, idempotency: new IdempotencyStore(calls) }),
  ...(DEBUG ? [testCall(placeTestCalls())] : []),
  ...ALERT_TYPES.map((alertType) => callback(alertType, { flow, parseEvents: parseCallEvents, verifyToken })),
  health(counters),
  apiDescription(() => routes),
];
for (const { name, path, methods, authLevel, handler } of routes) {
  app.http(name, { route: path, methods, authLevel, handler });
}

// Timers: without a retention no day is ever closed, and the timer is not registered.
const { eventRetentionDays: retentionDays } = settings;
if (retentionDays !== undefined) {
  app.timer('CloseDays', {
    schedule: CLOSE_DAYS_SCHEDULE,
    handler: async (_timer, context) =>
      closeDays({ table: counters, shards: dayShards, retentionDays, now }, invocationLog(context)),
  });
}

// When the app is told to stop, recordings under way are finished first.
app.hook.appTerminate(async () => recorder.settled());

if (DEBUG) appLog.warn('debug build: test calls can be placed');
