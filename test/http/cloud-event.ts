/** Another value for a member of a CloudEvent or of its data; `undefined` takes the member out. */
export type Members = Readonly<Record<string, unknown>>;

/** A valid CloudEvent about a camera's frame; given members replace its members, and given members of `data` replace the members of its data. */
export const cloudEvent = ({ data, ...members }: Members & { readonly data?: Members } = {}): Members => ({
  specversion: '1.0',
  id: 'm-1',
  source: '/ai/worker-3',
  type: 'CameraEvent.Changed',
  time: '2024-02-29T08:00:02.5Z',
  ...members,
  data: { event_id: 'f-1029', camera_id: 'ridge-04', ts_utc: '2024-02-29T08:00:00.123456Z', ...data },
});
