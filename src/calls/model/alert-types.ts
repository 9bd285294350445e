/**
 * All alert types. Callback functions are registered from this table, and the `alert_type` of a notification is checked against it: to
 * add an alert type, add a line.
 */
export const ALERT_TYPES = [
  { name: 'Anomaly', callbackPath: 'AnomalyCallback', phrase: 'Anomaly has been reported.' },
  { name: 'PointOfInterest', callbackPath: 'PointOfInterestCallback', phrase: 'Point of interest has been reported.' },
  {
    name: 'ReportOfFire',
    callbackPath: 'ReportOfFireCallback',
    phrase: 'Report of a fire has been reported.',
    isUrgent: true,
  },
  {
    name: 'ConfirmedFire',
    callbackPath: 'ConfirmedFireCallback',
    phrase: 'Confirmed fire has been reported.',
    isUrgent: true,
  },
  { name: 'BurnJob', callbackPath: 'BurnJobCallback', phrase: 'Burn job has been reported.' },
  { name: 'Custom', callbackPath: 'CustomCallback', phrase: 'Custom Alert has been reported.' },
] as const satisfies readonly AlertTypeRow[];

interface AlertTypeRow {
  readonly name: string;
  /** Below `/api/`, without a slash; also the name of the function. */
  readonly callbackPath: string;
  /** Spoken in the message. */
  readonly phrase: string;
  /** Called before everything else that waits, and a share of the day's calls is kept for it. */
  readonly isUrgent?: boolean;
}

export type AlertType = (typeof ALERT_TYPES)[number];

export type AlertTypeName = AlertType['name'];

export const ALERT_TYPE_NAMES: readonly AlertTypeName[] = ALERT_TYPES.map((type) => type.name);

/** The alert type of a name, which is case-sensitive; undefined if no type has it. */
export const findAlertType = (name: string): AlertType | undefined => ALERT_TYPES.find((type) => type.name === name);

export const alertTypeOf = (name: AlertTypeName): AlertType => {
  const found = findAlertType(name);
  if (found === undefined) throw new RangeError('not an alert type');
  return found;
};

export const isUrgent = (name: AlertTypeName): boolean =>
  ALERT_TYPES.some((type: AlertTypeRow) => type.name === name && type.isUrgent === true);
