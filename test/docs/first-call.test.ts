import { describe, expect, it } from 'vitest';

import { sharedStage } from '../harness/phone-stage.ts';
import { until } from '../harness/until.ts';
import { readText } from './markdown.ts';

const [, section = ''] = readText('infra/azure/phone.md').split('\n## First call\n');

/** The lines that the page lists, in its order. */
const LINES = [...section.matchAll(/^\d\. ([^.,]*)/gm)].flatMap(([, names = '']) =>
  [...names.matchAll(/`(.+?)`/g)].map(([, name]) => name),
);

describe.each([
  ['acs', LINES],
  ['twilio', LINES.filter((name) => name !== 'message playing')],
] as const)('a first call through %s', (provider, lines) => {
  const pace = { ringMs: 50, eventMs: 50, speakMs: 100 };
  const stageOf = sharedStage({ provider, network: { pace } });

  it('logs the lines that the page lists, in their order', async () => {
    const { alert, output } = stageOf();
    await alert('Custom', ['+12065550100']);
    const logged = () =>
      [...output().matchAll(/"event":"(.+?)"/g)].flatMap(([, name]) => (LINES.includes(name) ? [name] : []));
    await until(() => logged().includes('call disconnected'), 'the end of the call is logged');
    expect(logged()).toEqual(lines);
  });
});

describe.each([
  ['acs', { ACS_RESOURCE_ID: '00000000-0000-0000-0000-000000000000' }, '4'],
  ['twilio', { TWILIO_AUTH_TOKEN: '0'.repeat(32) }, '5'],
] as const)('a first call through %s, whose callbacks are refused', (provider, environment, missing) => {
  const pace = { ringMs: 50, eventMs: 50, speakMs: 100 };
  const stageOf = sharedStage({ provider, environment, network: { pace } });

  it('lacks the lines from the number that the page names with the reason', async () => {
    const { alert, fetch, url, output, network } = stageOf();
    const { notification_id } = await alert('Custom', ['+12065550100']);
    await until(() => output().includes('"callback refused"'), 'the refusal is logged');
    await network.settled();
    const first = LINES.findIndex((name) => !output().includes(`"event":"${name}"`));
    const ofProvider = LINES.slice(first).find((name) => provider === 'acs' || name !== 'message playing') ?? '';
    expect(section).toMatch(new RegExp(`^${missing}\\. \`${ofProvider}\``, 'm'));
    const [, reason = ''] = /^4\. ([^]*?)^5\. /m.exec(section) ?? [];
    expect(reason).toMatch(provider === 'acs' ? /If it is missing/ : new RegExp(`missing, or ${missing} with Twilio`));
    expect(reason).toContain('`callback refused` (401)');
    // It hangs up: the service does not know that the callee has answered.
    await fetch(`${url}/api/notifications/${notification_id}/stop`, { method: 'POST' });
  });
});
