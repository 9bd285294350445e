import { it } from 'vitest';

import { demoDays, frame, NOON } from './activity.ts';
import { setStage } from './stage.ts';
import { MISSED, quiet, RUNNING, WAVES } from './stories.ts';

const stage = setStage([...demoDays(), frame('old-1', NOON - 5 * 3_600_000), frame('old-2', NOON - 30 * 3_600_000)]);
const DIR = '/tmp/eyes';
const W = Number(process.env['EYES_W'] ?? 1440);
const theme = (process.env['EYES_T'] ?? 'light') as 'light' | 'dark';

it('looks', async () => {
  stage.service.key = 'k';
  const wavesRunning = {
    ...WAVES,
    status: 'in_progress' as const,
    next_wave_at: new Date(NOON + 40_000).toISOString(),
    details: 'North ridge, by the water tower',
    acknowledged_by: 'Ana',
    acknowledged_at: new Date(NOON - 120_000).toISOString(),
    recipients: WAVES.recipients.map((r, i) => ({
      ...r,
      name: ['Ana', 'Bo', 'Cy'][i] ?? '',
      status: i === 1 ? ('ringing' as const) : r.status,
    })),
  };
  stage.service.notifications = [
    { ...RUNNING, details: 'Bear Creek, mile 4', reference: 'bear-creek https://example.org/4' },
    wavesRunning,
    MISSED,
    { ...MISSED, notification_id: 'c', alert_type: 'Custom', details: 'Drill' },
    quiet('q1'),
    quiet('q2'),
  ];
  const reader = await stage.open('?tz=utc&notification=waves', { viewport: { width: W, height: 900 } });
  const { page } = reader;
  await page.emulateMedia({ colorScheme: theme });
  await page.screenshot({ path: `${DIR}/top-${W}-${theme}.png` });
  await page.getByRole('button', { name: 'Leave it off' }).click();
  await page.evaluate("document.querySelector('.attention').style.maxHeight='none'");
  await page.screenshot({ path: `${DIR}/full-${W}-${theme}.png`, fullPage: true });
  if (process.env['EYES_MORE'] !== undefined) {
    stage.service.hasPhone = false;
    await reader.nextRound(9_000);
    await page.screenshot({ path: `${DIR}/off-${W}-${theme}.png` });
    stage.service.hasPhone = true;
    stage.service.phone = {
      usable: false,
      since: new Date(NOON - 60_000).toISOString(),
      reason: 'The credential is refused.',
    };
    await reader.nextRound(61_000);
    await page.evaluate('window.scrollTo(0, 1500)');
    await page.screenshot({ path: `${DIR}/unusable-${W}-${theme}.png` });
    stage.service.isAway = true;
    await reader.nextRound(10_000);
    await page.evaluate('window.scrollTo(0, 0)');
    await page.screenshot({ path: `${DIR}/away-${W}-${theme}.png` });
    await page.pdf({ path: `${DIR}/print.pdf` }).catch(() => undefined);
  }
});
