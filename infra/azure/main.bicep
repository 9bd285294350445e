// All Azure resources of the service. `azd up` deploys them (azure.yaml); README.md has the commands.
//
// These files follow the published resource reference, and were never compiled. Before the first deployment run
// `az bicep build --file infra/azure/main.bicep` and `azd provision --preview`.
//
// No parameter is a bool: azd silently uses the default for a value that it cannot read as a bool. check-values.ts checks numbers first.
targetScope = 'subscription'

@minLength(1)
@maxLength(64)
@description('Name of the azd environment; every resource name is derived from it.')
param environmentName string

@minLength(1)
@description('The region of all regional resources. It must offer Flex Consumption and Azure AI services.')
@metadata({ azd: { type: 'location' } })
param location string

@minLength(1)
@maxLength(200)
@description('Name of the service, spoken in every call.')
param serviceName string

@description('Whether calls are placed: off, by a new Communication Services resource, by an existing one, or by Twilio. phone.md helps to choose.')
@allowed(['off', 'new', 'existing', 'twilio'])
param phone string = 'off'

@description('With an existing resource: its name.')
param acsResourceName string = ''

@description('With an existing resource: its resource group, in this subscription.')
param acsResourceGroup string = ''

@description('The number that calls, E.164. Without a number or a Teams resource account, the phone is off.')
param acsSourcePhoneNumber string = ''

@description('In place of a number: the object id of a Teams resource account (Teams Phone extensibility).')
param acsTeamsResourceAccountId string = ''

@description('Where Communication Services keeps its data at rest. Decides which numbers can be bought. Cannot be changed later.')
param acsDataLocation string = 'United States'

@description('With Twilio: the account (AC…).')
param twilioAccountSid string = ''

@description('With Twilio: the API key (SK…). Its secret and the auth token go into the key vault.')
param twilioApiSid string = ''

@description('With Twilio: the number that calls, E.164. Until it is given, the app runs with its phone off: give it when the secrets are in the key vault.')
param twilioSourcePhoneNumber string = ''

@minValue(1)
@maxValue(100)
@description('With Twilio: how many calls the account may start a second.')
param twilioCallsPerSecond int = 1

@description('With Twilio: the voice.')
param twilioVoice string = 'Polly.Joanna'

@allowed(['true', 'false'])
@description('With Twilio: true while the auth token is rotated. The app then also accepts the secret twilio-secondary-auth-token.')
param twilioTokenRotation string = 'false'

@minValue(1)
@maxValue(10)
@description('Calls to one person at most.')
param callAttempts int = 3

@minValue(5)
@maxValue(3600)
@description('Seconds from the end of an attempt to the next attempt.')
param callRetrySeconds int = 60

@minValue(15)
@maxValue(110)
@description('Seconds that a phone rings before the line is hung up.')
param callRingSeconds int = 60

@minValue(1)
@maxValue(1440)
@description('Minutes from a request to its last attempt.')
param notificationDeadlineMinutes int = 30

@description('Comma-separated prefixes of the numbers that may be called, such as +1206,+64. Until it is given, the app runs with its phone off.')
param phoneAllowedPrefixes string = ''

@minValue(1)
@maxValue(100000)
@description('The maximum number of calls a UTC day, enough for a small team: it bounds the calls of a stolen key.')
param callsPerDay int = 100

@minValue(1)
@maxValue(100)
@description('Calls that are open at once, over all instances. The number of ACS, the Teams account or Twilio has a limit.')
param callsAtOnce int = 2

@description('When the timer looks for calls that are due, NCRONTAB.')
param sweepSchedule string = '*/30 * * * * *'

@minValue(2)
@maxValue(3650)
@description('Days after which rows about calls are deleted.')
param callRetentionDays int = 90

@allowed(['true', 'false'])
@description('true: creates an Event Grid topic, to which the app publishes outcomes of notifications.')
param outcomeTopic string = 'false'

@description('Comma-separated addresses that get mail about alerts. Without any receiver, only the portal shows alerts.')
param alertEmail string = ''

@description('Comma-separated numbers that get a text message about alerts: country code, space, number.')
param alertSms string = ''

@description('Numbers that are called about alerts, likewise.')
param alertVoice string = ''

@secure()
@description('Comma-separated addresses that alerts are posted to.')
param alertWebhook string = ''

@description('The time without a recorded event before an alert, ISO 8601; or never, for cameras that sleep.')
@allowed(['never', 'PT15M', 'PT30M', 'PT1H', 'PT6H', 'P1D'])
param alertWhenQuietFor string = 'PT30M'

@description('Comma-separated origins of browser dashboards, such as https://dash.example.org. Empty: none.')
param corsOrigins string = ''

@description('Comma-separated categories that are always present in the answers.')
param detectionCategories string = 'fire,smoke,structure'

@minValue(1)
@maxValue(31622400)
@description('The sliding window of the analytics, in seconds.')
param cacheTsUtcWindowSeconds int = 86400

@minValue(1)
@maxValue(64)
@description('Shards of a day, 1 to 64. Another number is another table, which is empty.')
param counterShards int = 1

@allowed(['on', 'off'])
@description('on: bodies that are sent in chunks arrive. The host then never answers some malformed requests.')
param httpStreams string = 'off'

@maxLength(5)
@description('Days after whose end a UTC day is closed and its events are deleted, 1 to 36500. Empty: never.')
param eventRetentionDays string = ''

@maxLength(50)
@description('Put before the table names. A letter and up to 49 letters or digits, or empty.')
param tablesPrefix string = ''

@description('Redundancy of the storage account. Zones by default: the counts live nowhere else.')
@allowed(['Standard_LRS', 'Standard_ZRS', 'Standard_GRS', 'Standard_GZRS'])
param storageSku string = 'Standard_ZRS'

@minValue(0)
@maxValue(20)
@description('Instances that are always warm. At 0 a callee may wait in silence for a cold start.')
param alwaysReadyInstances int = 1

@minValue(1)
@maxValue(1000)
@description('The maximum number of instances.')
param maximumInstanceCount int = 40

@description('How an update replaces instances: all at once, or one after the other (preview). deploying.md has the effect on requests and calls in progress.')
@allowed(['Recreate', 'RollingUpdate'])
param siteUpdateStrategy string = 'Recreate'

@minValue(1)
@maxValue(1000)
@description('The maximum GB of log a day.')
param logDailyCapGb int = 2

@minValue(0)
@description('The budget of a month, in the currency of the subscription: mail at 80 %. 0: no budget.')
param budgetAmount int = 0

@maxLength(7)
@description('The first month of the budget, YYYY-MM: the month of its first deployment. Never change it.')
param budgetStartMonth string = ''

@allowed(['true', 'false'])
@description('true: storage is reached through a network of the app and not from the internet.')
param vnetEnabled string = 'false'

@allowed(['true', 'false'])
@description('true: a lock protects the storage account against deletion.')
param deleteLock string = 'true'

@description('Object id of the person or group that may read the tables (npm run audit, npm run export). Empty: only the app.')
param operatorPrincipalId string = ''

@description('The kind of OPERATOR_PRINCIPAL_ID.')
@allowed(['Group', 'User', 'ServicePrincipal'])
param operatorPrincipalType string = 'Group'

@allowed(['true', 'false'])
@description('true: they may also write the tables, for npm run audit -- --rebuild.')
param operatorMayRebuild string = 'false'

var token = toLower(uniqueString(subscription().id, environmentName, location))
var groupName = 'rg-${environmentName}'
// The phone needs a resource, a caller and allowed prefixes. Until all are given, only counting works, and the phone endpoints answer phone_off.
var isTwilio = phone == 'twilio'
var usesCommunication = phone == 'new' || phone == 'existing'
var hasCaller = isTwilio
  ? !empty(twilioAccountSid) && !empty(twilioApiSid) && !empty(twilioSourcePhoneNumber)
  : !empty(acsSourcePhoneNumber) || !empty(acsTeamsResourceAccountId)
var isPhoneOn = phone != 'off' && hasCaller && !empty(phoneAllowedPrefixes)
var tags = { 'azd-env-name': environmentName }

resource group 'Microsoft.Resources/resourceGroups@2024-03-01' = {
  name: groupName
  location: location
  tags: tags
}

module identity 'modules/identity.bicep' = {
  name: 'identity'
  scope: group
  params: {
    name: 'id-${token}'
    location: location
    tags: tags
  }
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  scope: group
  params: {
    workspaceName: 'log-${token}'
    insightsName: 'appi-${token}'
    location: location
    tags: tags
    dailyCapGb: logDailyCapGb
    appPrincipalId: identity.outputs.principalId
  }
}

module storage 'modules/storage.bicep' = {
  name: 'storage'
  scope: group
  params: {
    name: 'st${token}'
    sku: storageSku
    location: location
    tags: tags
    tablesPrefix: tablesPrefix
    appPrincipalId: identity.outputs.principalId
    operatorPrincipalId: operatorPrincipalId
    operatorPrincipalType: operatorPrincipalType
    operatorMayRebuild: operatorMayRebuild == 'true'
    counterShards: counterShards
    isPrivate: vnetEnabled == 'true'
    deleteLock: deleteLock == 'true'
    workspaceId: monitoring.outputs.workspaceId
  }
}

module network 'modules/network.bicep' = if (vnetEnabled == 'true') {
  name: 'network'
  scope: group
  params: {
    name: 'vnet-${token}'
    location: location
    tags: tags
    storageAccountId: storage.outputs.id
  }
}

module newCommunication 'modules/communication-new.bicep' = if (phone == 'new') {
  name: 'communication-new'
  scope: group
  params: {
    name: 'acs-${token}'
    dataLocation: acsDataLocation
    tags: tags
    appPrincipalId: identity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module existingCommunication 'modules/communication-existing.bicep' = if (phone == 'existing') {
  name: 'communication-existing-${token}'
  scope: resourceGroup(empty(acsResourceGroup) ? groupName : acsResourceGroup)
  params: {
    name: acsResourceName
    appPrincipalId: identity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module speech 'modules/speech.bicep' = if (usesCommunication) {
  name: 'speech'
  scope: group
  params: {
    name: 'cog-${token}'
    location: location
    tags: tags
    communicationPrincipalId: phone == 'new'
      ? newCommunication!.outputs.principalId
      : (existingCommunication!.outputs.principalId)
  }
}

module vault 'modules/vault.bicep' = if (isTwilio) {
  name: 'vault'
  scope: group
  params: {
    name: 'kv-${token}'
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

module outcomes 'modules/outcomes.bicep' = if (outcomeTopic == 'true') {
  name: 'outcomes'
  scope: group
  params: {
    name: 'evgt-outcomes-${token}'
    location: location
    tags: tags
    appPrincipalId: identity.outputs.principalId
    workspaceId: monitoring.outputs.workspaceId
  }
}

var acsEndpoint = phone == 'new'
  ? newCommunication!.outputs.endpoint
  : phone == 'existing' ? existingCommunication!.outputs.endpoint : ''
var acsResourceId = phone == 'new'
  ? newCommunication!.outputs.resourceId
  : phone == 'existing' ? existingCommunication!.outputs.resourceId : ''

module app 'modules/app.bicep' = {
  name: 'app'
  scope: group
  params: {
    name: 'func-${token}'
    planName: 'plan-${token}'
    location: location
    tags: tags
    identityId: identity.outputs.id
    identityClientId: identity.outputs.clientId
    insightsName: monitoring.outputs.insightsName
    blobEndpoint: storage.outputs.blobEndpoint
    deploymentContainerUrl: storage.outputs.deploymentContainerUrl
    alwaysReadyInstances: alwaysReadyInstances
    maximumInstanceCount: maximumInstanceCount
    siteUpdateStrategy: siteUpdateStrategy
    corsOrigins: corsOrigins
    serviceName: serviceName
    cacheTsUtcWindowSeconds: cacheTsUtcWindowSeconds
    detectionCategories: detectionCategories
    counterShards: counterShards
    httpStreams: httpStreams
    backupContainerUrl: storage.outputs.backupContainerUrl
    eventRetentionDays: eventRetentionDays
    tablesEndpoint: storage.outputs.tableEndpoint
    tablesPrefix: tablesPrefix
    subnetId: vnetEnabled == 'true' ? network!.outputs.appSubnetId : ''
    phone: isPhoneOn ? 'on' : 'off'
    acsEndpoint: acsEndpoint
    acsResourceId: acsResourceId
    acsSourcePhoneNumber: usesCommunication ? acsSourcePhoneNumber : ''
    acsTeamsResourceAccountId: usesCommunication ? acsTeamsResourceAccountId : ''
    acsCognitiveServicesEndpoint: usesCommunication ? speech!.outputs.endpoint : ''
    phoneProvider: isTwilio ? 'twilio' : usesCommunication ? 'acs' : ''
    twilioAccountSid: isTwilio ? twilioAccountSid : ''
    twilioApiSid: isTwilio ? twilioApiSid : ''
    twilioVaultUri: isTwilio ? vault!.outputs.uri : ''
    twilioSourcePhoneNumber: isTwilio ? twilioSourcePhoneNumber : ''
    twilioCallsPerSecond: twilioCallsPerSecond
    twilioVoice: twilioVoice
    twilioTokenRotation: twilioTokenRotation == 'true'
    callAttempts: callAttempts
    callRetrySeconds: callRetrySeconds
    callRingSeconds: callRingSeconds
    notificationDeadlineMinutes: notificationDeadlineMinutes
    phoneAllowedPrefixes: phoneAllowedPrefixes
    callsPerDay: callsPerDay
    callsAtOnce: callsAtOnce
    sweepSchedule: sweepSchedule
    callRetentionDays: callRetentionDays
    eventTopicEndpoint: outcomeTopic == 'true' ? outcomes!.outputs.endpoint : ''
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  scope: group
  params: {
    prefix: environmentName
    location: location
    tags: tags
    insightsName: monitoring.outputs.insightsName
    workspaceName: monitoring.outputs.workspaceName
    healthUrl: '${app.outputs.url}/api/health'
    alertEmail: alertEmail
    alertSms: alertSms
    alertVoice: alertVoice
    alertWebhook: alertWebhook
    isPhoneOn: isPhoneOn
    closesDays: !empty(eventRetentionDays)
    alertWhenQuietFor: alertWhenQuietFor
  }
}

module workbook 'modules/workbook.bicep' = {
  name: 'workbook'
  scope: group
  params: {
    name: '${serviceName}: activity and calls'
    location: location
    tags: tags
    insightsName: monitoring.outputs.insightsName
  }
}

module budget 'modules/budget.bicep' = if (budgetAmount > 0 && !empty(budgetStartMonth)) {
  name: 'budget'
  scope: group
  params: {
    name: 'budget-${environmentName}'
    amount: budgetAmount
    startMonth: budgetStartMonth
    emails: alerts.outputs.emails
    alertGroupId: alerts.outputs.groupId
  }
}

output AZURE_RESOURCE_GROUP string = group.name
output SERVICE_API_NAME string = app.outputs.name
output SERVICE_API_URL string = app.outputs.url
output EVENTS_URL string = '${app.outputs.url}/api/events'
output HEALTH_URL string = '${app.outputs.url}/api/health'
output OPENAPI_URL string = '${app.outputs.url}/api/openapi.json'
output BACKUP_CONTAINER_URL string = storage.outputs.backupContainerUrl
output TABLES_ENDPOINT string = storage.outputs.tableEndpoint
output STORAGE_ACCOUNT_NAME string = storage.outputs.name
output DEAD_LETTER_CONTAINER_ID string = storage.outputs.deadLetterContainerId
output WORKSPACE_NAME string = monitoring.outputs.workspaceName
output ALERT_GROUP_NAME string = alerts.outputs.groupName
output ACS_NAME string = phone == 'new' ? newCommunication!.outputs.name : acsResourceName
output ACS_ENDPOINT string = acsEndpoint
// The immutable id: Teams asks for it (phone.md, "Teams Phone").
output ACS_RESOURCE_ID string = acsResourceId
// With PHONE=twilio: the key vault for its two secrets.
output KEY_VAULT_NAME string = isTwilio ? vault!.outputs.name : ''
output PHONE_IS_ON bool = isPhoneOn
