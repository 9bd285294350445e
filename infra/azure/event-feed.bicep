// Optional, and after `azd up`, because Event Grid asks the running app whether it may deliver: a topic that AI workers and review
// desks publish to, delivered in batches to POST /api/events, with what could not be delivered kept as dead letters. README.md
// ("Feed") has the command. Not compiled where it was written; see main.bicep.
param location string = resourceGroup().location

@description('Where the events go: EVENTS_URL of the deployment.')
param eventsUrl string

@secure()
@description('A function key of the app, best one of its own so that it can be replaced alone.')
param functionKey string

@description('STORAGE_ACCOUNT_NAME of the deployment; its container dead-letters takes what could not be delivered.')
param storageAccountName string

@description('Object ids of the identities that may publish.')
param publisherPrincipalIds array = []

var storageBlobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
var eventGridDataSender = 'd5a91429-5739-47e2-a06b-3470a27159e7'

resource storage 'Microsoft.Storage/storageAccounts@2024-01-01' existing = {
  name: storageAccountName
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
        endpointUrl: '${eventsUrl}?code=${functionKey}'
        // Well below what one request may have (5,000 events, 4 MiB): a batch is answered within a second or two.
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

output TOPIC_ENDPOINT string = topic.properties.endpoint
