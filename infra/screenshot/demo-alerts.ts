import { setTimeout as delay } from 'node:timers/promises';

import { z } from 'zod';

import { CommandError } from '../command-line.ts';

/**
 * What is phoned for the picture, in this order. The simulator knows by a number's last two digits what becomes of its calls: 00 answers,
 * 06 is busy at first, 08 is busy and then does not answer at first, 01 never answers.
 */
const ALERTS = [
  { alert_type: 'BurnJob', recipients: ['+12065550300'] },
  { alert_type: 'ReportOfFire', recipients: ['+12065550308', '+12065550200'] },
  { alert_type: 'ConfirmedFire', recipients: ['+12065550300', '+12065550306', '+12065550301'] },
] as const;

/** Three attempts to reach somebody, as far apart as the settings of a local run have it. */
const REACHED_MS = 120_000;
const POLL_MS = 500;

const sentSchema = z.object({ notification_id: z.string() });
const stateSchema = z.object({ status: z.string() });

/**
 * Has people phoned by a service with an ACS simulator, so that there are notifications to see, and waits until nothing more will be
 * done about them. Within a day it phones them once, however often it is called.
 *
 * @param base the service, without `/api`
 */
export const placeDemoAlerts = async (base: string): Promise<void> => {
  for (const alert of ALERTS) {
    const response = await fetch(`${base}/api/notifications`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': `picture-${alert.alert_type}` },
      body: JSON.stringify({ channel: 'phone', ...alert }),
    });
    if (response.status !== 202) throw await refused('POST /api/notifications', response);
    const { alert_type, recipients } = alert;
    const people = recipients.length === 1 ? '1 person' : `${recipients.length} people`;
    console.log(`Waiting for ${people} to be reached or given up (${alert_type}) …`);
    await completed(base, sentSchema.parse(await response.json()).notification_id);
  }
};

const completed = async (base: string, id: string): Promise<void> => {
  const end = performance.now() + REACHED_MS;
  while (performance.now() < end) {
    const response = await fetch(`${base}/api/notifications/${id}`);
    if (!response.ok) throw await refused('GET /api/notifications/{id}', response);
    if (stateSchema.parse(await response.json()).status === 'completed') return;
    await delay(POLL_MS);
  }
  throw new CommandError(`After ${REACHED_MS / 1_000} s notification ${id} is not completed.`);
};

const refused = async (what: string, response: Response): Promise<CommandError> =>
  new CommandError(`${what} was answered with ${response.status}: ${await response.text()}`);
