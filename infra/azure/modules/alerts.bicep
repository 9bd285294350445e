// The alerts. infra/azure/operate.md says what to do about each.
param prefix string
param location string
param tags object
param insightsName string
param workspaceName string
param healthUrl string

@description('Comma-separated addresses that get mail; may be empty.')
param alertEmail string

@description('Numbers that get a text message, country code and number with a space: 1 2065550100, 64 211234567.')
param alertSms string

@description('Numbers that are called, likewise. Azure does not call every country.')
param alertVoice string

@secure()
@description('Comma-separated webhook addresses. They are secrets: a person who knows an address can post there.')
param alertWebhook string

@description('The time without a recorded event before an alert, ISO 8601; or never.')
param alertWhenQuietFor string

@description('Whether the app places calls.')
param isPhoneOn bool

@description('Whether old days are closed: then the timer CloseDays exists.')
param closesDays bool

var emails = filter(map(split(alertEmail, ','), address => trim(address)), address => !empty(address))
var smsNumbers = filter(map(split(alertSms, ','), number => trim(number)), number => !empty(number))
var voiceNumbers = filter(map(split(alertVoice, ','), number => trim(number)), number => !empty(number))
var webhooks = filter(map(split(alertWebhook, ','), address => trim(address)), address => !empty(address))

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' existing = {
  name: workspaceName
}

resource people 'Microsoft.Insights/actionGroups@2023-01-01' = {
  name: '${prefix}-people'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: 'wildfire'
    enabled: true
    emailReceivers: [
      for (address, index) in emails: {
        name: 'mail-${index}'
        emailAddress: address
        useCommonAlertSchema: true
      }
    ]
    smsReceivers: [
      for (number, index) in smsNumbers: {
        name: 'sms-${index}'
        countryCode: split(number, ' ')[0]
        phoneNumber: split(number, ' ')[1]
      }
    ]
    voiceReceivers: [
      for (number, index) in voiceNumbers: {
        name: 'voice-${index}'
        countryCode: split(number, ' ')[0]
        phoneNumber: split(number, ' ')[1]
      }
    ]
    webhookReceivers: [
      for (address, index) in webhooks: {
        name: 'webhook-${index}'
        serviceUri: address
        useCommonAlertSchema: true
      }
    ]
  }
}

// Requested every five minutes from five places; 200 only if storage answers. It notices faults without a log line, such as an app that
// does not start.
resource health 'Microsoft.Insights/webtests@2022-06-15' = {
  name: '${prefix}-health'
  location: location
  tags: union(tags, { 'hidden-link:${insights.id}': 'Resource' })
  kind: 'standard'
  properties: {
    SyntheticMonitorId: '${prefix}-health'
    Name: '${prefix}-health'
    Enabled: true
    Frequency: 300
    Timeout: 30
    Kind: 'standard'
    RetryEnabled: true
    Locations: [
      { Id: 'us-va-ash-azr' }
      { Id: 'us-ca-sjc-azr' }
      { Id: 'us-tx-sn1-azr' }
      { Id: 'us-il-ch1-azr' }
      { Id: 'emea-nl-ams-azr' }
    ]
    Request: {
      RequestUrl: healthUrl
      HttpVerb: 'GET'
      ParseDependentRequests: false
    }
    ValidationRules: {
      ExpectedHttpStatusCode: 200
      SSLCheck: true
      SSLCertRemainingLifetimeCheck: 7
    }
  }
}

resource unhealthy 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: '${prefix}-unhealthy'
  location: 'global'
  tags: tags
  properties: {
    description: 'GET /api/health does not answer 200 from at least two places: the app does not run or cannot reach its tables.'
    severity: 0
    enabled: true
    scopes: [health.id, insights.id]
    evaluationFrequency: 'PT1M'
    windowSize: 'PT5M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.WebtestLocationAvailabilityCriteria'
      webTestId: health.id
      componentId: insights.id
      failedLocationCount: 2
    }
    actions: [{ actionGroupId: people.id }]
  }
}

// Log lines are JSON objects; `event` has the name from src/. A dimension is a column of the query.
//
// No rule reads `requests` or `exceptions`: every caller can send requests, and cause exceptions of the Functions host by requests that
// break off. Both are sampled (host.json): some may be missing. The Functions host logs a line for each run of a timer.
//
// A rule with `perLine` fires for every line, such as for every call, however many alerts are open. A rule that resolves by itself
// (autoMitigate) reports no second line while its first alert is open. A rule without `perLine` is about a state that begins and ends.
var logAlerts = [
  {
    name: 'failed-requests'
    description: 'More than five requests failed in five minutes: storage, stored rows or a bug.'
    severity: 1
    query: '''
traces
| where tostring(parse_json(message).event) in ("storage unavailable", "unexpected error", "stored row damaged", "stored row of a later format")
'''
    operator: 'GreaterThan'
    threshold: 5
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: false
    dimension: ''
    mute: ''
    enabled: true
    scope: insights.id
  }
  {
    name: 'unexpected-errors'
    description: 'The app met an error that it does not know: the line has its kind and place.'
    severity: 1
    query: 'traces | where tostring(parse_json(message).event) == "unexpected error"'
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: false
    dimension: ''
    mute: ''
    enabled: true
    scope: insights.id
  }
  {
    name: 'bodies-lost'
    description: 'Event Grid or the telephone service sends its bodies in chunks, and none arrives: no event is counted, or no callee hears a message. Set HTTP_STREAMS to on.'
    severity: 0
    query: '''
traces
| extend line = parse_json(message)
| where tostring(line.event) == "body did not arrive"
| project timestamp, path = tostring(line.path), agent = tostring(line.user_agent)
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: 'path'
    mute: 'PT1H'
    enabled: true
    scope: insights.id
  }
  {
    name: 'app-restarted'
    description: 'The app was started again on a running instance: it crashed, ran out of memory, or a function exceeded its timeout. Requests in progress got 500.'
    severity: 1
    // The host reports crashes as exceptions, among exceptions that every caller can cause. The query counts starts, which the app itself logs.
    query: '''
traces
| extend isStart = tostring(parse_json(message).event) == "app started"
| summarize seen = min(timestamp), started = maxif(timestamp, isStart) by cloud_RoleInstance
| where started > seen + 2m
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT1H'
    frequency: 'PT15M'
    perLine: false
    dimension: ''
    mute: ''
    enabled: true
    scope: insights.id
  }
  {
    name: 'backup-missing'
    description: 'A day, an hour of it, or some of its events could not be backed up. Until then no event row of the day is deleted. Fix it before a failure of the table loses the day.'
    severity: 1
    query: '''
traces
| extend line = parse_json(message)
| where tostring(line.event) in ("day not backed up", "events not backed up", "backup has fewer events")
| project timestamp, day = tostring(line.day), failure = tostring(line.kind), reason = tostring(line.reason)
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT15M'
    frequency: 'PT15M'
    perLine: true
    dimension: 'day'
    // Every run reports the same day.
    mute: 'PT12H'
    enabled: true
    scope: insights.id
  }
  {
    name: 'backups-stopped'
    description: 'No run of the timer BackUpDays has ended for a day: new days have no backup.'
    severity: 1
    query: '''
traces
| summarize runs = countif(tostring(parse_json(message).event) == "backups looked after")
| where runs == 0
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'P1D'
    frequency: 'PT1H'
    perLine: false
    dimension: ''
    mute: ''
    enabled: true
    scope: insights.id
  }
  {
    name: 'table-deleted'
    description: 'A table was deleted. Restore it: infra/cli/send/README.md.'
    severity: 0
    query: '''
StorageTableLogs
| where OperationName == "DeleteTable" and toint(StatusCode) < 400
| project TimeGenerated, Uri, CallerIpAddress
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT15M'
    frequency: 'PT15M'
    perLine: true
    dimension: ''
    mute: ''
    enabled: true
    scope: workspace.id
  }
  {
    name: 'damaged-rows'
    description: 'A stored row cannot be read, or is lost: its partition is named. infra/azure/operate.md has the audit to run.'
    severity: 1
    query: '''
traces
| extend line = parse_json(message)
| where tostring(line.event) == "stored row damaged" or (tostring(line.event) == "day not closed" and tostring(line.kind) == "DamagedRow")
| project timestamp, partition = tostring(line.partition), row = tostring(line.row), command = tostring(line.command)
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: 'partition'
    // Every reader reports the same row.
    mute: 'PT1H'
    enabled: true
    scope: insights.id
  }
  {
    name: 'rows-of-a-later-release'
    description: 'A newer release wrote rows that the running release cannot read: their day is neither counted nor answered. Deploy the newer release again.'
    severity: 1
    query: '''
traces
| extend line = parse_json(message)
| where tostring(line.event) == "stored row of a later format" or (tostring(line.event) == "day not closed" and tostring(line.kind) == "LaterFormat")
| project timestamp, partition = tostring(line.partition), row = tostring(line.row)
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: 'partition'
    mute: 'PT1H'
    enabled: true
    scope: insights.id
  }
  {
    name: 'clock-off'
    description: 'The clock of an instance differs from the clock of storage by more than a minute: it accepts or refuses wrong times of events. Restart the app.'
    severity: 2
    query: '''
traces
| extend line = parse_json(message)
| where tostring(line.event) == "clock is off"
| project timestamp, instance = cloud_RoleInstance, ahead_seconds = toint(line.ahead_seconds)
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: 'instance'
    mute: 'PT1H'
    enabled: true
    scope: insights.id
  }
  // Faults of the service or its configuration. A callee who does not answer, or a number that cannot be called, is not such a fault: the service
  // dials again, or not-reached fires.
  {
    name: 'failed-calls'
    description: 'The service failed at a call: refused by Communication Services, or a callee answered and heard nothing. Other calls will fail as well.'
    severity: 0
    query: '''
traces
| extend line = parse_json(message)
| extend event = tostring(line.event), code = toint(line.code), reason = tostring(line.reason)
| where event in ("message not played", "speech not available", "hang-up failed", "call overdue", "callback events left", "call forbidden", "calls not accepted", "notification not written")
    or (event == "call not placed" and (reason == "unexpected error" or (code >= 400 and code < 500 and code != 408)))
    or (event == "no line free" and reason in ("no token for the phone service", "unreachable"))
| project timestamp, call = coalesce(tostring(line.call_id), tostring(line.notification_id), tostring(line.invocation_id)), event, reason
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: 'call'
    mute: ''
    enabled: isPhoneOn
    scope: insights.id
  }
  {
    name: 'not-reached'
    description: 'A recipient was not reached in all attempts, too few of all waves have confirmed, or no phone has rung for a fire within two minutes: phone them.'
    severity: 0
    query: '''
traces
| extend line = parse_json(message)
| where tostring(line.event) in ("recipient not reached", "notification not confirmed", "urgent notification silent")
| project timestamp, person = strcat(tostring(line.notification_id), " ", tostring(line.recipient_index)), recipient = tostring(line.recipient), outcome = tostring(line.outcome), reason = tostring(line.reason)
'''
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: 'person'
    mute: ''
    // A deployment that switches the phone off ends notifications: these ends are logged, too.
    enabled: true
    scope: insights.id
  }
  {
    name: 'daily-call-limit'
    description: 'CALLS_PER_DAY is reached: no calls until midnight UTC. A stolen key, or too low a limit.'
    severity: 0
    query: 'traces | where tostring(parse_json(message).event) == "day limit reached"'
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: ''
    mute: 'PT30M'
    enabled: isPhoneOn
    scope: insights.id
  }
  {
    name: 'calls-without-table'
    description: 'The table of the calls did not answer: new requests get 503. Callees who answer hear the message, perhaps twice.'
    severity: 1
    query: 'traces | where tostring(parse_json(message).event) in ("call records unreachable", "due work unreachable")'
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: false
    dimension: ''
    mute: ''
    enabled: isPhoneOn
    scope: insights.id
  }
  {
    name: 'phone-service-not-usable'
    description: 'The hourly check says that the phone service refuses our credential, or that our number is gone: no calls are possible.'
    severity: 1
    query: 'traces | where tostring(parse_json(message).event) == "phone service not usable"'
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: true
    dimension: ''
    // While it fails, it is checked every minute.
    mute: 'PT1H'
    enabled: isPhoneOn
    scope: insights.id
  }
  {
    name: 'calls-late'
    description: 'A call is checked or placed two minutes late.'
    severity: 1
    query: 'traces | where tostring(parse_json(message).event) == "call is late"'
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT5M'
    frequency: 'PT5M'
    perLine: false
    dimension: ''
    mute: ''
    enabled: isPhoneOn
    scope: insights.id
  }
  {
    name: 'calls-not-checked'
    description: 'No process has looked for due calls for 15 minutes: redials and waves wait for the next request. Restart the app.'
    severity: 1
    // The app logs it at most every five minutes.
    query: 'traces | where tostring(parse_json(message).event) == "calls checked"'
    operator: 'LessThan'
    threshold: 1
    window: 'PT15M'
    frequency: 'PT5M'
    perLine: false
    dimension: ''
    mute: ''
    enabled: isPhoneOn
    scope: insights.id
  }
  {
    name: 'close-days-stopped'
    description: 'No hourly run of the timer CloseDays has succeeded for a day: old days stay open, and you pay for their event rows.'
    severity: 2
    query: '''
traces
| where message startswith "Executed 'Functions.CloseDays' (Succeeded"
'''
    operator: 'LessThan'
    threshold: 1
    window: 'P1D'
    frequency: 'PT1H'
    perLine: false
    dimension: ''
    mute: ''
    enabled: closesDays
    scope: insights.id
  }
  {
    name: 'counts-not-moving'
    description: 'No new event was recorded: the cameras, the AI, or the feed to POST /api/events has stopped.'
    severity: 2
    query: 'traces | extend line = parse_json(message) | where tostring(line.event) == "events recorded" and tolong(line.recorded) > 0'
    operator: 'LessThan'
    threshold: 1
    window: alertWhenQuietFor == 'never' ? 'PT30M' : alertWhenQuietFor
    frequency: 'PT15M'
    perLine: false
    dimension: ''
    mute: ''
    enabled: alertWhenQuietFor != 'never'
    scope: insights.id
  }
  {
    name: 'log-cap-reached'
    description: 'LOG_DAILY_CAP_GB is reached: until the reset hour of the workspace Azure drops log lines, and no alert on logs fires.'
    severity: 1
    query: '_LogOperation | where Category =~ "Ingestion" and Detail has "OverQuota"'
    operator: 'GreaterThan'
    threshold: 0
    window: 'PT15M'
    frequency: 'PT15M'
    perLine: true
    dimension: ''
    mute: 'PT6H'
    enabled: true
    scope: workspace.id
  }
]

resource rules 'Microsoft.Insights/scheduledQueryRules@2023-12-01' = [
  for rule in logAlerts: {
    name: '${prefix}-${rule.name}'
    location: location
    tags: tags
    kind: 'LogAlert'
    properties: {
      displayName: '${prefix} ${rule.name}'
      description: rule.description
      severity: rule.severity
      enabled: rule.enabled
      scopes: [rule.scope]
      evaluationFrequency: rule.frequency
      windowSize: rule.window
      // The tables have no columns before the first line has arrived.
      skipQueryValidation: true
      autoMitigate: !rule.perLine
      muteActionsDuration: empty(rule.mute) ? null : rule.mute
      criteria: {
        allOf: [
          {
            query: rule.query
            timeAggregation: 'Count'
            operator: rule.operator
            threshold: rule.threshold
            dimensions: empty(rule.dimension) ? [] : [{ name: rule.dimension, operator: 'Include', values: ['*'] }]
            failingPeriods: {
              numberOfEvaluationPeriods: 1
              minFailingPeriodsToAlert: 1
            }
          }
        ]
      }
      actions: { actionGroups: [people.id] }
    }
  }
]

output emails array = emails
output groupId string = people.id
output groupName string = people.name
