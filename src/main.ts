import { app } from '@azure/functions';
import { now } from './analytics/model/instant.ts';
import { tableOfShards } from './analytics/rows/keys.ts';
import { Reader } from './analytics/read/reader.ts';
import { Recorder } from './analytics/record/recorder.ts';
import { BACKUP_SCHEDULE, backUpDays } from './analytics/retention/back-up-days.ts';
import { CLOSE_DAYS_SCHEDULE, closeDays } from './analytics/retention/close-days.ts';
import { FORMAT } from './analytics/rows/properties.ts';
import { lazyCredential } from './azure/credential.ts';
import { ALERT_TYPES } from './calls/model/alert-types.ts';
import { createPhone } from './calls/phone.ts';
import { eventGridTopic, outcomeWebhook } from './calls/providers/destinations.ts';
import { connectToProvider } from './calls/providers/provider.ts';
import { phoneOff } from './calls/run/housekeeping.ts';
import { CALLS_FORMAT } from './calls/store/rows.ts';
import { dashboardPage } from './dashboard/page-file.ts';
import { analyticsAccuracy } from './http/analytics-accuracy.ts';
import { analyticsCameras } from './http/analytics-cameras.ts';
import { analyticsLastSeen } from './http/analytics-last-seen.ts';
import { analyticsSeries } from './http/analytics-series.ts';
import { analyticsDay, analyticsRange } from './http/analytics.ts';
import { callback } from './http/callback.ts';
import { dashboard } from './http/dashboard.ts';
import { deliveryHandshake } from './http/delivery-handshake.ts';
import { logUnexpected } from './http/error-edge.ts';
import { health } from './http/health.ts';
import { apiDescription } from './http/openapi/document.ts';
import { problemsPage } from './http/problems-page.ts';
import { acknowledgeNotification, readNotification, stopNotification } from './http/read-notifications.ts';
import { recordEvents } from './http/record-events.ts';
import { RefusalLog } from './http/refusal-log.ts';
import type { Route } from './http/route/route.ts';
import { withTable } from './http/route/table.ts';
import { notifications } from './http/send-notification.ts';
import { testCall } from './http/test-call.ts';
import { appLog, inInvocation, type Log } from './log.ts';
import { readSettings } from './settings.ts';
import type { PhoneSettings } from './settings/phone.ts';
import { azureTable } from './storage/azure-table.ts';
import { Table } from './storage/table.ts';
import { VERSION } from './version.ts';

/** Set by the build: true in a debug bundle, false in a release bundle, where what it guards is removed. */
declare const DEBUG: boolean;

// Settings: wrong ones stop the app here, with one error that names them all.
const settings = readSettings(process.env);

// Off by default: with streams, the host never answers some malformed requests.
if (settings.hasHttpStreams) app.setup({ enableHttpStream: true });

// Clients: made when they are first needed
const credential = lazyCredential();
const { counterShards: shards, detectionCategories: categories } = settings;
const countersName = tableOfShards(shards);
const counters = new Table(azureTable(settings.tables, countersName, credential), {
  format: FORMAT,
  // Another number of shards is another table, which is empty: an operator must notice a mistaken setting.
  onCreated: () => appLog.warn('table created', { table: `${settings.tables.prefix}${countersName}` }),
});
const calls = new Table(azureTable(settings.tables, 'calls', credential), { format: CALLS_FORMAT, isAnyFormat: true });

// Analytics
const recorder = new Recorder(counters, shards, appLog, { configuredCategories: categories });
const analytics = { reader: new Reader(counters, shards), now, categories };

// Phone calls: through the one provider that is configured
const { callRetentionMs: retentionMs } = settings;
const startPhone = (own: PhoneSettings) => {
  const { provider, callbacks } = connectToProvider(own, credential, appLog);
  const { serviceName } = settings;
  const topic = own.topic && eventGridTopic(own.topic, credential);
  const webhook = own.webhook && outcomeWebhook(own.webhook);
  const parts = createPhone({
    provider,
    table: calls,
    serviceName,
    rules: { ...own, retentionMs },
    topic,
    webhook,
    log: appLog,
  });
  return { ...parts, ...callbacks, refusals: new RefusalLog() };
};
const phone = settings.phone === undefined ? 'off' : startPhone(settings.phone);
const sweep = phone === 'off' ? phoneOff({ table: calls, retentionMs }) : phone.runDue;
app.timer('Sweep', { schedule: settings.sweepSchedule, handler: async (_, context) => inInvocation(context, sweep) });

// Routes: the description of the API is made from the same list.
const routes: readonly Route[] = [
  analyticsRange(analytics, settings.windowSeconds),
  analyticsDay(analytics),
  ...withTable(analyticsSeries(analytics, settings.windowSeconds)),
  ...withTable(analyticsCameras(analytics)),
  analyticsLastSeen(analytics),
  ...withTable(analyticsAccuracy(analytics)),
  recordEvents({ recorder, now }),
  deliveryHandshake(),
  notifications(phone),
  readNotification(phone),
  stopNotification(phone),
  acknowledgeNotification(phone),
  ...(DEBUG
    ? [testCall(phone === 'off' ? phone : { ...phone, callbackBaseUrl: settings.phone?.testCallbackBaseUrl })]
    : []),
  ...ALERT_TYPES.map((alertType) => callback(alertType, phone)),
  dashboard(dashboardPage(__dirname)),
  health(counters),
  apiDescription(() => routes),
  problemsPage(),
];
for (const { name, path, methods, authLevel, handler } of routes) {
  app.http(name, { route: path, methods, authLevel, handler });
}

// Timers. A timer that the settings do not need is not registered.
const timer = (name: string, schedule: string, work: (log: Log) => Promise<void>): void => {
  app.timer(name, {
    schedule,
    handler: async (_timer, context) =>
      inInvocation(context, async (log) => {
        try {
          await work(log);
        } catch (error) {
          // The host knows only the place in the bundle.
          logUnexpected(error, log);
          throw error;
        }
      }),
  });
};
const { eventRetentionDays: retentionDays, backupContainerUrl } = settings;
// Loaded from its own file at the first use. The folder is named after the table.
const container =
  backupContainerUrl === undefined
    ? undefined
    : async () =>
        import('./storage/azure-container.ts').then(({ azureContainer }) =>
          azureContainer(backupContainerUrl, `${settings.tables.prefix}${countersName}`, credential),
        );
if (container !== undefined) {
  timer('BackUpDays', BACKUP_SCHEDULE, async (log) => backUpDays({ table: counters, shards, container }, log));
}
if (retentionDays !== undefined) {
  timer('CloseDays', CLOSE_DAYS_SCHEDULE, async (log) =>
    closeDays({ table: counters, shards, retentionDays, container }, log),
  );
}

// When the host stops the app, work in progress finishes first.
app.hook.appTerminate(async () => {
  await Promise.all([recorder.allAnswered(), phone === 'off' ? undefined : phone.end()]);
});

if (DEBUG) appLog.warn('debug build: test calls can be placed');
if (settings.phone === undefined) appLog.info('phone is off', { missing_settings: settings.phoneLacks.join(', ') });
// An alert asks for this line: after others of the same instance it means that the process had ended.
appLog.info('app started', { version: VERSION, node: process.version });
