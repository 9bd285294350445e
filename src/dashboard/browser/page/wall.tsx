import { totalOf } from '../model/categories.ts';
import { usePart, useShown } from '../parts/shown.ts';
import { ViewTitle } from '../parts/words.tsx';
import { Plots } from './plots.tsx';
import { Tile } from './tiles.tsx';

/** For a screen on the wall: four figures and one plot under health bar and alerts, without controls. */
export const Wall = () => {
  const { cameras, sound, mayScreenSleep } = useShown();
  const { answer } = usePart('activity');
  const soundNote = sound.isOn
    ? 'The browser blocks the sound. Click once on the page, or press a key.'
    : 'The sound is off. Turn it on in the page without ?wall.';
  return (
    <>
      <p class="note wall-notes">
        <ViewTitle />
        {mayScreenSleep && ' · The screen may go to sleep: this browser does not keep it awake.'}
        {sound.isOn && sound.isReady ? null : ` · ${soundNote}`}
      </p>
      <dl class="tiles">
        <Tile name="Camera frames" fact="total_events" of={answer?.total_events} />
        <Tile name="AI detections" fact="detections" of={answer && totalOf(answer.counts_per_category)} />
        <Tile name="Reviewed frames" fact="reviewed_total_events" of={answer?.reviewed_total_events} />
        <Tile name="Not sending now" fact="not_sending" of={cameras?.notSending.length} />
      </dl>
      <Plots facts={['counts_per_category']} />
    </>
  );
};
