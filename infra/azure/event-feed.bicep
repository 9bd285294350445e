// A topic for the events of AI workers and review desks. Event Grid delivers them in batches to POST /api/events, and keeps undeliverable
// events as dead letters. Optional. Deploy it after `azd up`, because Event Grid first asks the running app. README.md ("Feed") has the
// command. It was never compiled; see main.bicep.
param location string = resourceGroup().location

@description('Where the events go: EVENTS_URL of the deployment.')
param eventsUrl string

@description('SERVICE_API_NAME of the deployment. The key is read from it, and is in no command line and no deployment history.')
param appName string

@description('The name of the key of the function RecordEvents that Event Grid sends.')
param functionKeyName string = 'default'

@description('STORAGE_ACCOUNT_NAME of the deployment; its container dead-letters takes undeliverable events.')
param storageAccountName string

@description('WORKSPACE_NAME of the deployment, where logs about deliveries go.')
param workspaceName string

@description('ALERT_GROUP_NAME of the deployment: the people who get an alert when events were not delivered.')
param alertGroupName string

@description('Object ids of the identities that may publish.')
param publisherPrincipalIds array = []

@allowed(['ServicePrincipal', 'User', 'Group'])
@description('The kind of these identities. A managed identity is a ServicePrincipal.')
param publisherPrincipalType string = 'ServicePrincipal'

var storageBlobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var eventGridDataSender = 'd5a91429-5739-47e2-a06b-3470a27159e7'

resource storage 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: storageAccountName
}

resource app 'Microsoft.Web/sites@2024-04-01' existing = {
  name: appName
}

resource recordEvents 'Microsoft.Web/sites/functions@2024-04-01' existing = {
  parent: app
  name: 'RecordEvents'
}

resource workspace 'Microsoft.OperationalInsights/workspaces@2023-09-01' existing = {
  name: workspaceName
}

resource people 'Microsoft.Insights/actionGroups@2023-01-01' existing = {
  name: alertGroupName
}

resource blobService 'Microsoft.Storage/storageAccounts/blobServices@2024-01-01' existing = {
  parent: storage
  name: 'default'
}

resource deadLetters 'Microsoft.Storage/storageAccounts/blobServices/containers@2024-01-01' existing = {
  parent: blobService
  name: 'dead-letters'
}

resource topic 'Microsoft.EventGrid/topics@2025-02-15' = {
  name: 'evgt-${uniqueString(resourceGroup().id)}'
  location: location
  identity: { type: 'SystemAssigned' }
  properties: {
    inputSchema: 'CloudEventSchemaV1_0'
    disableLocalAuth: true
    minimumTlsVersionAllowed: '1.2'
  }
}

resource topicLeavesDeadLetters 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(deadLetters.id, topic.id, storageBlobDataContributor)
  scope: deadLetters
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataContributor)
    principalId: topic.identity.principalId
    principalType: 'ServicePrincipal'
  }
}

resource publishersSend 'Microsoft.Authorization/roleAssignments@2022-04-01' = [
  for publisher in publisherPrincipalIds: {
    name: guid(topic.id, publisher, eventGridDataSender)
    scope: topic
    properties: {
      roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', eventGridDataSender)
      principalId: publisher
      principalType: publisherPrincipalType
    }
  }
]

resource delivery 'Microsoft.EventGrid/topics/eventSubscriptions@2025-02-15' = {
  parent: topic
  name: 'camera-activity'
  dependsOn: [topicLeavesDeadLetters]
  properties: {
    eventDeliverySchema: 'CloudEventSchemaV1_0'
    filter: { includedEventTypes: ['CameraEvent.Changed'] }
    destination: {
      endpointType: 'WebHook'
      properties: {
        endpointUrl: eventsUrl
        // A header, because addresses end up in logs. Event Grid sends it with its handshake as well.
        deliveryAttributeMappings: [
          {
            name: 'x-functions-key'
            type: 'Static'
            properties: {
              value: recordEvents.listKeys()[functionKeyName]
              isSecret: true
            }
          }
        ]
        // Well below the limits of a request (5,000 events, 4 MiB): a batch is answered within a second or two.
        maxEventsPerBatch: 500
        preferredBatchSizeInKilobytes: 512
      }
    }
    retryPolicy: {
      maxDeliveryAttempts: 30
      eventTimeToLiveInMinutes: 1440
    }
    deadLetterWithResourceIdentity: {
      identity: { type: 'SystemAssigned' }
      deadLetterDestination: {
        endpointType: 'StorageBlob'
        properties: {
          resourceId: storage.id
          blobContainerName: deadLetters.name
        }
      }
    }
  }
}

resource topicLogs 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'logs'
  scope: topic
  properties: {
    workspaceId: workspace.id
    logs: [
      { category: 'DeliveryFailures', enabled: true }
      { category: 'PublishFailures', enabled: true }
    ]
    metrics: [{ category: 'AllMetrics', enabled: true }]
  }
}

// A dead-lettered event waits in the container until an operator sends it again. A dropped event is lost.
var lost = [
  {
    metric: 'DeadLetteredCount'
    description: 'Events could not be delivered and are in the container dead-letters. Send them again with npm run send.'
    severity: 1
  }
  {
    metric: 'DroppedEventCount'
    description: 'Events could neither be delivered nor stored as dead letters: they are lost.'
    severity: 0
  }
]

resource undelivered 'Microsoft.Insights/metricAlerts@2018-03-01' = [
  for each in lost: {
    name: '${topic.name}-${each.metric}'
    location: 'global'
    properties: {
      description: each.description
      severity: each.severity
      enabled: true
      autoMitigate: true
      scopes: [topic.id]
      evaluationFrequency: 'PT5M'
      windowSize: 'PT15M'
      criteria: {
        'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
        allOf: [
          {
            name: each.metric
            criterionType: 'StaticThresholdCriterion'
            metricNamespace: 'Microsoft.EventGrid/topics'
            metricName: each.metric
            timeAggregation: 'Total'
            operator: 'GreaterThan'
            threshold: 0
          }
        ]
      }
      actions: [{ actionGroupId: people.id }]
    }
  }
]

output TOPIC_ENDPOINT string = topic.properties.endpoint
